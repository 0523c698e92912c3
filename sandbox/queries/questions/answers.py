"""The registry of functions that answer questions, by kind: `@answers(RecentLagOf)`."""

from typing import Any

from sandbox.control.handlers import Handlers
from sandbox.control.questions import Question

ANSWERS: Handlers[Question, dict[str, Any]] = Handlers(Question)
answers = ANSWERS.takes
