"""The registry of functions that answer questions, by kind: `@answers(RecentLagOf)`."""

from sandbox.control.handlers import Handlers
from sandbox.control.questions import Question

ANSWERS: Handlers[Question, dict[str, object]] = Handlers(Question)
answers = ANSWERS.takes
