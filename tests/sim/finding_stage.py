"""A world whose findings are looked at every two seconds, as a running sandbox does."""

from pathlib import Path
from typing import Any, NamedTuple

from sandbox.findings.all_rules import RULES
from sandbox.findings.english import text_of
from sandbox.findings.finding import Checked
from sandbox.findings.history import History
from sandbox.findings.sandbox_view import view_of
from sandbox.findings.tracker import OpenFinding, Tracker
from sandbox.findings.view import ClusterView
from sandbox.simulation.world import BEGIN_MS, World

LOOK_EVERY_S = 2


class Line(NamedTuple):
    """A finding that opened: seconds since the world began, its code, the name of its subject, its text."""

    at_s: float
    code: str
    subject: str
    text: str


class FindingStage:
    """One topic `orders`; groups, producers and troubles are up to the test."""

    def __init__(self, home: Path, template: str = "empty", *, queues: int = 3, seed: int = 1, **more: Any) -> None:
        self.world = World(home, template, seed=seed, **more)
        self.history, self.tracker = History(), Tracker(RULES)
        self.opened: list[Line] = []
        self.closed: list[tuple[float, str]] = []
        self.view: ClusterView | None = None
        if template == "empty":
            self.act("CreateTopic", topic="orders", write_queues=queues, read_queues=queues)

    def act(self, action: str, **fields: Any) -> int:
        return self.world.act(action, **fields)

    def member(
        self, actor: str, group: str = "svc", *, topic: str = "orders", expression: str = "*", **more: Any
    ) -> None:
        self.act(
            "StartConsumer",
            actor=actor,
            group=group,
            subscriptions=[{"topic": topic, "expression": expression}],
            **{"work_ms": [20, 40], **more},
        )

    def producer(self, rate_per_s: float = 10, *, topic: str = "orders", **more: Any) -> None:
        self.act("StartProducer", actor="shop", topic=topic, rate_per_s=rate_per_s, **more)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / LOOK_EVERY_S)):
            self.world.run(LOOK_EVERY_S)
            self.look()

    def look(self) -> None:
        self.view, follows = view_of(self.world.cluster, self.history)
        changes = self.tracker.update(self.view, follows=follows)
        at_s = (self.view.at_ms - BEGIN_MS) / 1000
        self.opened += [
            Line(at_s, each.finding.code, each.finding.subject.name, self.text(each)) for each in changes.opened
        ]
        self.closed += [(at_s, finding.code) for finding, _ in changes.closed]

    def text(self, found: OpenFinding) -> str:
        assert self.view is not None
        return text_of(found.finding, self.view.labels)

    @property
    def codes(self) -> list[str]:
        """The codes that are open, the worst first."""
        return [each.finding.code for each in self.tracker.open]

    def only(self, code: str) -> OpenFinding:
        """The open finding of this code."""
        [one] = [each for each in self.tracker.open if each.finding.code == code]
        return one

    def checked(self, code: str) -> Checked:
        assert self.view is not None
        return next(rule for rule in RULES if rule.code == code).checks(self.view)
