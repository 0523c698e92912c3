"""Rows of the findings of a sandbox or a real cluster (channel `findings/<slug>`)."""

from typing import TypedDict


class FindingMark(TypedDict):
    """The worst finding of a group or a sandbox, for a list: its code and subject."""

    code: str
    severity: str
    subject: str


class SentenceRow(TypedDict):
    """A sentence by its name among those of its code, with its values; `who` is a member's label."""

    sentence: str
    values: dict[str, object]


class RemedyRow(TypedDict):
    """The action that mends a finding, with the sentence of its button."""

    label: SentenceRow
    action: str
    fields: dict[str, object]
    does: SentenceRow | None  # None: the dialog of its action has a preview


class FigureLine(TypedDict):
    """One row of a table of figures.  `about`: the sentences are about it; `mark`: a part of the board, or empty."""

    values: dict[str, object]
    mark: str
    about: bool


class FigureTable(TypedDict):
    """The figures of which the sentences are made, by the names of columns (`findings.figures`).

    A value is None if it is not known, empty if there is none, and a list of a value and its limit.
    """

    rows: list[FigureLine]
    total: dict[str, object]  # of all rows
    beside: dict[str, object]  # values of no row
    left_out: int  # rows that are not listed
    window_ms: int | None  # time of the rates


class FindingRow(TypedDict):
    """One open finding."""

    key: str
    code: str
    severity: str  # error, warning, info
    kind: str  # group, queue, member, broker, topic, cluster
    subject: str  # a queue's row, a member's label, or a name
    group: str  # empty: it is about no group
    topic: str
    since_ms: int
    text: str  # the sentences in English
    says: list[SentenceRow]
    why: FigureTable | None  # None: it has no more figures than its sentences
    marks: list[str]  # addresses of the parts of a board (`findings.marks`)
    because_of: str | None  # key of the finding that explains it
    remedy: RemedyRow | None
    reason: str  # why there is no remedy, by its name; empty: there is one, or nothing has to be mended
    lab: str  # slug; empty: none
    incident: str
    event: str | None  # seq


class CheckRow(TypedDict):
    """One check without an open finding; with `known` below `all` it is unknown."""

    code: str
    known: int
    all: int


class Findings(TypedDict):
    """All open findings, the worst first, each consequence after its cause; and the checks that hold.

    `at_ms`: time of the look; None: no look yet, so nothing is known.  `began_ms`: of the first look whose samples
    are kept; rates need 10 s of them, and some checks 20 s.
    """

    at_ms: int | None
    began_ms: int | None
    findings: list[FindingRow]
    checks: list[CheckRow]
    groups: int
    topics: int
    brokers: int
