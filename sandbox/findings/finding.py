"""A finding as a value: a problem, or a state that explains what a reader sees."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.findings.figures import Figures

ERROR, WARNING, INFO = "error", "warning", "info"
WORST_FIRST = (ERROR, WARNING, INFO)

GROUP, QUEUE, MEMBER, BROKER, TOPIC = "group", "queue", "member", "broker", "topic"
CLUSTER = "cluster"


class Subject(NamedTuple):
    """The thing that a finding is about.

    `name`: of a queue its row, `broker-a:3`; of a member its row key; of a broker its node, `broker-a.1`.
    """

    kind: str
    name: str
    group: str = ""
    topic: str = ""


class Said(NamedTuple):
    """One sentence of a finding: its name among the sentences of its code, and the values that fill it.

    Values whose names end in `_ms` are durations; `who` is the row key of a member.
    """

    sentence: str
    values: Mapping[str, object]


class Remedy(NamedTuple):
    """The action that mends a finding, with its fields.

    `label`: the name of its button's text among the sentences of the code.  `does`: what it will do; None: its dialog
    has a preview.
    """

    label: str
    action: str
    fields: Mapping[str, object]
    does: Said | None


@dataclass(frozen=True, slots=True)
class Finding:
    """`since_ms`: when its condition began, if a row has that time; else None, and the tracker's first look counts.

    `marks`: addresses of the parts of a board that it is about (`marks.py`).  `touches`: names of brokers, groups,
    members and queues that relate it to its cause.
    """

    code: str
    severity: str
    subject: Subject
    says: tuple[Said, ...]
    since_ms: int | None = None
    marks: tuple[str, ...] = ()
    touches: frozenset[str] = frozenset()
    remedy: Remedy | None = None
    reason: str = ""  # why it has no remedy, by its name in `reasons.py`; empty: it has one
    event: str | None = None  # seq of the journal's newest fact about it
    figures: Figures | None = None  # of which its sentences are made

    @property
    def key(self) -> tuple[str, Subject]:
        return self.code, self.subject


def say(sentence: str, **values: object) -> Said:
    return Said(sentence, values)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one check where nothing is wrong.

    `known` of `all` subjects could be looked at; fewer than all is unknown, never healthy.
    """

    known: int
    all: int

    @property
    def holds(self) -> bool:
        return self.known == self.all
