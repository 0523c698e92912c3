"""The Board of a sandbox in which a lab is in progress: the panel's values, and what its forms may send."""

from collections.abc import Mapping

from queueviz.boards.lab_panel import panel
from queueviz.boards.page import Context
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.labs import LabRow

PAGE = "queueviz/boards/lab.html"
PANEL = "queueviz/partials/lab.html"
FORMS = ("AnswerStep", "TakeHint", "RestartLab")  # what the panel sends; the rest goes to `actions/`
BESIDE = ("group", "topic")  # what the Board shows at first, where the lab has them


def panel_action(fields: Mapping[str, object], lab: str) -> dict[str, object]:
    """Return the fields of an action that the panel of `lab` sends.  Raises ActionRefused (422) for other actions."""
    if fields.get("action") not in FORMS:
        raise ActionRefused(422, "Labs do not accept this action.", "Answer the lab's question, or use the Board.")
    return {**fields, "lab": lab}


def in_progress(row: LabRow | None, lab: str) -> LabRow:
    """Return the row if it is of `lab`.  Raises ActionRefused (404) otherwise."""
    if row is None or row["lab"] != lab:
        raise ActionRefused(404, "Lab {lab} is not in progress here.", "Start the lab in a new sandbox.", lab=lab)
    return row


def panel_values(row: LabRow, address: str, *, shows_score: bool) -> Context:
    return {"lab": panel(row), "shows_score": shows_score, "here": address}


def board_query(row: LabRow, query: Mapping[str, str]) -> dict[str, str]:
    """Return the query of the Board beside the panel: the lab's own group and topic, unless the reader chose others."""
    numbers = row["numbers"]
    return {name: str(numbers[name]) for name in BESIDE if name in numbers} | dict(query)
