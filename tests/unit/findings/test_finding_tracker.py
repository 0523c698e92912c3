"""A condition has to hold for its time before its finding opens, and to be absent for as long before it closes."""

from collections.abc import Iterator

from sandbox.findings.finding import ERROR, GROUP, INFO, Checked, Finding, Subject
from sandbox.findings.history import History
from sandbox.findings.rule import Rule
from sandbox.findings.tracker import Changes, Tracker
from sandbox.findings.view import ClusterView

HOLD_MS = 10_000


class Condition:
    """A condition that the test switches."""

    def __init__(self, code: str, severity: str = ERROR, *, touches: str = "group svc", because_of: str = "") -> None:
        self.holds, self.since_ms = False, None
        self._finding = (code, severity, touches)
        self.rule = Rule(
            code=code,
            title=code,
            hold_ms=HOLD_MS,
            sentences={},
            find=self.find,
            healthy="",
            checks=lambda view: Checked(1, 1),
            because_of=(because_of,) if because_of else (),
        )

    def find(self, view: ClusterView) -> Iterator[Finding]:
        code, severity, touches = self._finding
        if self.holds:
            yield Finding(
                code, severity, Subject(GROUP, code), (), since_ms=self.since_ms, touches=frozenset({touches})
            )


def view(at_ms: int) -> ClusterView:
    return ClusterView(at_ms, 1.0, None, {}, {}, {}, {}, (), History())


def codes(changes: Changes) -> tuple[list[str], list[str]]:
    return [each.finding.code for each in changes.opened], [finding.code for finding, _ in changes.closed]


def test_it_opens_once_it_has_held_and_closes_once_it_has_been_absent() -> None:
    slow = Condition("slow")
    tracker = Tracker([slow.rule])
    slow.holds = True
    assert codes(tracker.update(view(1_000))) == ([], [])
    assert codes(tracker.update(view(10_999))) == ([], [])
    assert codes(tracker.update(view(11_000))) == (["slow"], [])
    slow.holds = False
    assert codes(tracker.update(view(12_000))) == ([], [])
    slow.holds = True
    assert codes(tracker.update(view(21_000))) == ([], []), "it came back: no flicker"
    slow.holds = False
    tracker.update(view(22_000))
    assert codes(tracker.update(view(32_000))) == ([], ["slow"])
    assert tracker.open == ()


def test_a_condition_that_does_not_hold_long_enough_never_opens() -> None:
    slow = Condition("slow")
    tracker = Tracker([slow.rule])
    for at_ms in range(0, 100_000, 2_000):
        slow.holds = at_ms % 10_000 != 8_000
        assert codes(tracker.update(view(at_ms))) == ([], [])


def test_a_time_in_the_rows_counts_from_its_beginning() -> None:
    slow = Condition("slow")
    slow.holds, slow.since_ms = True, 5_000
    tracker = Tracker([slow.rule])
    assert codes(tracker.update(view(16_000))) == (["slow"], [])
    assert tracker.open[0].since_ms == 5_000


def test_the_worst_is_first_and_a_consequence_names_its_cause() -> None:
    cause, other = Condition("down"), Condition("idle", INFO)
    consequence = Condition("slow", because_of="down")
    unrelated = Condition("apart", touches="group mail", because_of="down")
    conditions = (other, consequence, unrelated, cause)
    tracker = Tracker([each.rule for each in conditions])
    for each in conditions:
        each.holds = True
    for at_ms in (0, HOLD_MS):
        tracker.update(view(at_ms))
    assert [each.finding.code for each in tracker.open] == ["apart", "down", "slow", "idle"]
    assert [each.because_of and each.because_of[0] for each in tracker.open] == [None, None, "down", None]


def test_what_was_open_before_its_cause_began_has_another_cause() -> None:
    cause, consequence = Condition("down"), Condition("slow", because_of="down")
    tracker = Tracker([cause.rule, consequence.rule])
    consequence.holds = True
    for at_ms in (0, HOLD_MS):
        tracker.update(view(at_ms))
    cause.holds = True
    for at_ms in (HOLD_MS + 1_000, 2 * HOLD_MS + 1_000):
        tracker.update(view(at_ms))
    assert {each.finding.code: each.because_of for each in tracker.open} == {"down": None, "slow": None}


def test_after_a_gap_an_open_finding_stays_only_while_its_condition_holds() -> None:
    stays, goes, begun = Condition("stays"), Condition("goes"), Condition("begun")
    tracker = Tracker([each.rule for each in (stays, goes, begun)])
    stays.holds = goes.holds = True
    tracker.update(view(0))
    begun.holds = True
    tracker.update(view(HOLD_MS))
    goes.holds = False
    assert codes(tracker.update(view(900_000), follows=False)) == ([], ["goes"])
    assert [each.finding.code for each in tracker.open] == ["stays"], "what had begun before the gap begins again"
