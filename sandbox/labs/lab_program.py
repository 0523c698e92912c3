"""Source file of a lab made from a run: its setup, a step per later action, scripts, and texts to be filled in."""

import re
from collections.abc import Iterable
from dataclasses import MISSING, fields, replace
from typing import Any

from sandbox.control.actions import Action, CreateTopic, ResetOffsets, StartConsumer, fields_of, name_of
from sandbox.labs.lab_from_run import Later, SavedRun
from sandbox.labs.placeholders import MARK
from sandbox.labs.python_text import Call, call_of, literal, names_in

WAIT_MS_MAX = 600_000  # longer ones are cut: a lab is done in about ten minutes
SHOWN_CHARS = 60  # of a value in a text
ANSWER_MIN = 1  # of a step, besides its wait
OF_SYSTEM = re.compile(r"%(RETRY|DLQ)%")

HEAD = '''"""Lab {slug}, made from a board: what was done there is played again by `SOLUTION`.

Replace every text that begins with {mark}; then `manage.py lab check` this file until it says nothing more.{notes}
"""

from sandbox.control.actions import {actions}
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers
from sandbox.labs.lab import Lab, Question, Step
from sandbox.labs.placeholders import carried_out, truth
from sandbox.labs.question_kinds import Number
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import wait
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict


def _draw(chance: Chance) -> dict[str, object]:
{draw}


def _setup(n: Numbers) -> tuple[Action, ...]:
{setup}

'''

CHECK = '''
def _step_{number}(evidence: Evidence) -> Verdict:
    """{mark}: say what is to be seen.  So far the step is met once its action was carried out."""
{check}

'''

DONE = """
def _do_{number}(hands: Hands) -> None:
{body}

"""

SOLUTION = """
SOLUTION = Solution(
{steps}
)

"""

STEP = """        Step(
            title=_("{mark}: the title of step {number}"),
            do=_({do}),
            check=_step_{number},
            predict=Question(text=_("{mark}: what will happen?"), kind=Number(_("{mark}: the unit")), right=truth),
            say=Question(
                text=_("{mark}: what is to be read from the board?"),
                kind=Number(_("{mark}: the unit")),
                right=truth,
                again=_("{mark}: the sentence after a wrong answer"),
            ),
        ),
"""

LAB = """LAB = Lab(
    slug={slug},
    number="T1",
    minutes={minutes},
    title=_("{mark}: the title of the lab"),
    goal=_("{mark}: what it is for, in a sentence"),
    template={template},
    preset={preset},{changes}
    draw=_draw,
    setup=_setup,
{allowed}
    steps=(
{steps}    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("nothing", "{mark}: the misconception", _("{mark}: the sentence that answers it")).at(
            1, do=wait(60), within_s=0
        ),
    ),
)
"""


def lab_program(run: SavedRun) -> str:
    """Return the text of the lab's Python file.

    Names of topics and groups are numbers of the lab, so a second attempt has other names.
    """
    names = _Names(run)
    setup = [call_of(action, names.in_setup) for action in run.setup]
    acts = [call_of(_repeatable(later.action), names.at(later)) for later in run.later]
    used = sorted({"Action"} | names_in([*setup, *acts]), key=str.casefold)
    steps = "".join(
        STEP.format(mark=MARK, number=number, do=literal(_done(later.action)))
        for number, later in enumerate(run.later, start=1)
    )
    checks = "".join(
        CHECK.format(mark=MARK, number=number, check=_returned(_check(later.action, names)))
        for number, later in enumerate(run.later, start=1)
    )
    head = HEAD.format(
        slug=run.name,
        mark=MARK,
        notes=_notes(run),
        actions=_imported(used),
        draw=_returned(names.drawn()),
        setup=_returned(Call("", tuple(setup))),
    )
    allowed = tuple(map(literal, sorted({name_of(later.action) for later in run.later})))
    lab = LAB.format(
        slug=literal(run.name),
        mark=MARK,
        minutes=_minutes(run.later),
        template=literal(run.template),
        preset=literal(run.preset),
        changes=f"\n    changes={run.changes!r}," if run.changes else "",
        steps=steps,
        allowed="\n".join(Call("frozenset", (Call("", allowed, "", "{}"),), "allowed=").lines(4, ",")),
    )
    return head + checks + _solution(run.later, acts) + lab


class _Names:
    """Names of topics and groups in a run, as numbers of the lab: `topic`, `topic_2`, `group` and so on."""

    def __init__(self, run: SavedRun) -> None:
        self._of: dict[tuple[str, str], str] = {}
        for action in (*run.setup, *(later.action for later in run.later)):
            for kind, name in _named(fields_of(action)):
                count = sum(of_kind == kind for of_kind, _ in self._of) + 1
                self._of.setdefault((kind, name), kind if count == 1 else f"{kind}_{count}")

    def drawn(self) -> Call:
        items = tuple(f"{literal(number)}: {literal(name)}" for (_, name), number in self._of.items())
        return Call("", items, "", "{}")

    def in_setup(self, field: str, value: Any) -> str | None:
        return self.rewritten(field, value, "n")

    def at(self, later: Later) -> Any:
        """Return the rewriting of fields for an action; times become differences from the action's time."""

        def rewrite(field: str, value: Any) -> str | None:
            if isinstance(value, int) and _is_moment(later.action, field):
                difference = value - later.at_ms
                return f"hands.evidence.now_ms {'-' if difference < 0 else '+'} {literal(abs(difference))}"
            return self.rewritten(field, value, "n")

        return rewrite

    def rewritten(self, field: str, value: Any, numbers: str) -> str | None:
        """Return the source text of a field that is a known name, else None.

        `numbers`: the variable with the lab's numbers.
        """
        if field not in KINDS or not isinstance(value, str):
            return None
        plain = OF_SYSTEM.sub("", value)
        kind = "group" if plain != value else KINDS[field]
        number = self._of.get((kind, plain))
        if number is None:
            return None
        text = f'{numbers}["{number}"]'
        return text if plain == value else f"f\"{value.removesuffix(plain)}{{{numbers}['{number}']}}\""


KINDS = {"topic": "topic", "group": "group", "source_group": "group", "confirm": "group"}
"""Fields that name a topic or a group."""


def _named(values: Any, field: str = "") -> Iterable[tuple[str, str]]:
    """Yield kind and name of the topics and groups in an action's fields, in order."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from _named(value, key)
    elif isinstance(values, list):
        for value in values:
            yield from _named(value, field)
    elif isinstance(values, str) and field in KINDS and values:
        plain = OF_SYSTEM.sub("", values)
        yield "group" if plain != values else KINDS[field], plain


def _is_moment(action: Action, field: str) -> bool:
    return (isinstance(action, ResetOffsets) and action.target == "time" and field == "value") or (
        isinstance(action, StartConsumer) and field == "timestamp"
    )


def _repeatable(action: Action) -> Action:
    """Return the action without values of its preview, which differ in another run."""
    if isinstance(action, ResetOffsets):
        return replace(action, expected=(), fingerprint=None, confirm=action.group)
    return action


def _needed(action: Action) -> dict[str, object]:
    """Return the text and number fields without a default, which identify the action's subject."""
    values = {spec.name: getattr(action, spec.name) for spec in fields(action) if spec.default is MISSING}
    return {name: value for name, value in values.items() if isinstance(value, str | int | float)}


def _check(action: Action, names: _Names) -> Call:
    items = [
        f"{field}={names.rewritten(field, value, 'evidence.numbers') or literal(value)}"
        for field, value in _needed(action).items()
    ]
    return Call("carried_out", ("evidence", literal(name_of(action)), *items))


def _done(action: Action) -> str:
    values = ", ".join(f"{field} {str(value)[:SHOWN_CHARS]}" for field, value in _needed(action).items())
    return f"{MARK}: ask for what was done here, {name_of(action)}: {values}".replace("{", "{{").replace("}", "}}")


def _solution(later: tuple[Later, ...], acts: list[Call]) -> str:
    """Return the source of the solution: a function for each action, and a step that calls it."""
    numbered = list(enumerate(zip(later, acts, strict=True), start=1))
    done = "".join(DONE.format(number=number, body="\n".join(_done_in(step, act))) for number, (step, act) in numbered)
    steps = "\n".join(f"    SolvedStep(predict=0, do=_do_{number}, say=0)," for number, _ in numbered)
    return done + SOLUTION.format(steps=steps)


def _done_in(step: Later, act: Call) -> list[str]:
    body = []
    if step.waited_ms > 0:
        cut = f"  # there it was {step.waited_ms / 1000:g} s" if step.waited_ms > WAIT_MS_MAX else ""
        body.append(f"    hands.wait({min(step.waited_ms, WAIT_MS_MAX) / 1000:g}){cut}")
    body += Call("hands.act", (act,)).lines(4)
    needs_numbers = any('n["' in line or "{n['" in line for line in body)
    return ["    n = hands.numbers", *body] if needs_numbers else body


def _minutes(later: tuple[Later, ...]) -> int:
    waits_ms = sum(min(act.waited_ms, WAIT_MS_MAX) for act in later)
    return round(waits_ms / 60_000 + ANSWER_MIN * len(later) + 0.5)


def _notes(run: SavedRun) -> str:
    """Return a text about the differences from the Board; empty if there are none."""
    notes = ""
    if run.left_out:
        notes += f"\nLeft out, as they name what that run alone had: {', '.join(dict.fromkeys(run.left_out))}."
    if not any(isinstance(action, CreateTopic) for action in run.setup):
        notes += "\nNo topic is created in its setup."
    return f"\n{notes}" if notes else ""


def _imported(names: list[str]) -> str:
    """Join names for an import, in parentheses if they do not fit on the line."""
    line = ", ".join(names)
    if len(f"from sandbox.control.actions import {line}") <= 120:
        return line
    return "(\n" + "".join(f"    {name},\n" for name in names) + ")"


def _returned(value: Call) -> str:
    return "\n".join(value._replace(before="return ").lines(4))
