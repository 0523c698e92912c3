"""A broker that does not start, because a config file and its backup are damaged."""

from collections.abc import Iterator

from sandbox.findings.finding import BROKER, ERROR, Checked, Finding, Subject, say
from sandbox.findings.reasons import FILES
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_broker
from sandbox.findings.view import ClusterView

HOLD_MS = 0


def find(view: ClusterView) -> Iterator[Finding]:
    for node, row in view.brokers.items():
        damaged = row.get("damaged", [])
        if row["state"] == "damaged" and damaged:
            yield Finding(
                CODE,
                ERROR,
                Subject(BROKER, node),
                (say("damaged", broker=node, file=damaged[0]["file"], why=damaged[0]["why"]), say("restore")),
                reason=FILES,
                touches=of_broker(row["broker"]),
            )


def checks(view: ClusterView) -> Checked:
    """Count the brokers that run: a real cluster does not report why one does not."""
    known = sum(row["state"] == "running" or not view.attached for row in view.brokers.values())
    return Checked(known, len(view.brokers))


CODE = "table_damaged"
RULE = Rule(
    code=CODE,
    title="damaged file",
    hold_ms=HOLD_MS,
    sentences={
        "damaged": "{broker} does not start: {file} {why}, and its backup cannot be read.",
        "restore": "Restore the file, or delete it to begin with an empty table.",
    },
    find=find,
    healthy="Brokers could read their tables",
    checks=checks,
)
