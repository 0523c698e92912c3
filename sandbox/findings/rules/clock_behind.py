"""A sandbox whose clock is slower than its rate, because the machine is busy."""

from collections.abc import Iterator

from sandbox.findings.finding import CLUSTER, INFO, Checked, Finding, Subject, say
from sandbox.findings.reasons import MACHINE
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView

HOLD_MS = 4_000
SHARE = 0.9  # of the rate


def find(view: ClusterView) -> Iterator[Finding]:
    reached = view.reached_rate
    if reached is not None and view.rate > 0 and reached < SHARE * view.rate:
        yield Finding(
            CODE,
            INFO,
            Subject(CLUSTER, "clock"),
            (say("behind", reached=float(reached), rate=float(view.rate)),),
            reason=MACHINE,
        )


def checks(view: ClusterView) -> Checked:
    """Count the clock of a sandbox; a real cluster has none of its own."""
    return Checked(int(not view.attached), int(not view.attached))


CODE = "clock_behind"
RULE = Rule(
    code=CODE,
    title="machine busy",
    hold_ms=HOLD_MS,
    sentences={"behind": "This machine is busy: sandbox time runs at {reached}× instead of {rate}×."},
    find=find,
    healthy="The clock keeps its rate",
    checks=checks,
)
