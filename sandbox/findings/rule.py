"""The declaration of one finding: when it holds, what it says, what explains it, and where a reader learns more."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sandbox.findings.finding import Checked, Finding
from sandbox.findings.view import ClusterView
from sandbox.kernel.sentences import Sentence


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One code of the closed list.

    `hold_ms`: the condition holds for so long before the finding opens, and is absent for so long before it closes.
    `sentences`: by name, with fields of a finding's values; `title`: the finding in a few words, after the name of its
    subject.
    `checks`: counts what was looked at; `healthy`: the sentence where nothing is wrong.
    `of_moment`: the condition has no noise, so it needs no holding time while the clock is stopped.
    `stays`: returns an open finding as it is now, if it goes on although its condition no longer holds.
    `because_of`: codes that explain it if they touch the same subjects.  `lab`, `incident`: slugs, or empty.
    """

    code: str
    title: str
    hold_ms: int
    sentences: Mapping[str, Sentence]
    find: Callable[[ClusterView], Iterable[Finding]]
    healthy: str
    checks: Callable[[ClusterView], Checked]
    of_moment: bool = False
    stays: Callable[[ClusterView, Finding], Finding | None] = lambda view, finding: None
    because_of: tuple[str, ...] = ()
    lab: str = ""
    incident: str = ""
