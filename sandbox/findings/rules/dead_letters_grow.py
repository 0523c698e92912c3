"""Messages that became dead letters: they failed too often, and are not delivered again by themselves."""

from collections.abc import Iterator

from sandbox.findings.figure_tables import of_attempts
from sandbox.findings.finding import ERROR, GROUP, Checked, Finding, Subject, say
from sandbox.findings.reasons import PROGRAM
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import dead_key
from sandbox.findings.touches import of_group
from sandbox.findings.view import ClusterView
from sandbox.kernel.sentences import Plural

HOLD_MS = 0
WITHIN_MS = 60_000


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        new = view.history.rise(dead_key(group.name), WITHIN_MS)
        if new > 0 and group.dead_letters is not None:
            yield Finding(
                CODE,
                ERROR,
                Subject(GROUP, group.name, group.name),
                (say("new", new=new), say("all", all=group.dead_letters)),
                reason=PROGRAM,
                touches=of_group(group.name),
                figures=of_attempts(view, group.retried or (), beside={"new": new, "dead_letters": group.dead_letters}),
            )


def checks(view: ClusterView) -> Checked:
    groups = view.groups.values()
    return Checked(sum(group.dead_letters is not None and view.masters_run for group in groups), len(groups))


CODE = "dead_letters_grow"
RULE = Rule(
    code=CODE,
    title="new dead letters",
    hold_ms=HOLD_MS,
    sentences={
        "new": Plural(
            "new",
            "{new} message became a dead letter within the last minute.",
            "{new} messages became dead letters within the last minute.",
        ),
        "all": Plural(
            "all",
            "The dead-letter topic has {all} message; no member gets it.",
            "The dead-letter topic has {all} messages; no member gets them.",
        ),
    },
    find=find,
    healthy="No new dead letters",
    checks=checks,
    because_of=("poison_message", "retrying"),
    lab="dead-letter",
    incident="retries-after-a-release",
)
