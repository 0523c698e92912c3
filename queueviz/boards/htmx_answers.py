"""Answers to htmx besides boards: the answer to a question, and the event that an executed action triggers."""

import json
from collections.abc import Mapping

from queueviz.boards.page import Context
from sandbox.queries.rows.followed import FOLLOWED

ACTED = "queueviz:acted"  # the event a page waits with until the stream reaches the action's seq
ANSWER = "queueviz/partials/ask_{}.html"


def answer_template(question: str) -> str:
    """Return the template of a question's answer.  It does not exist for a question that programs alone ask."""
    return ANSWER.format(question.replace("-", "_"))


def answer_values(question: str, asked: Mapping[str, object], answer: Mapping[str, object]) -> Context:
    return {"answer": answer, "asked": asked, "question": question}


def acted_trigger(seq: int, fields: Mapping[str, object]) -> str:
    """Return the value of the header `HX-Trigger` after an action.

    `follow`: the question `what-followed` knows what follows such an action.
    """
    return json.dumps({ACTED: {"seq": str(seq), "follow": fields.get("action") in FOLLOWED}})
