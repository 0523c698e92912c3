"""A world whose findings are looked at every two seconds, as a running sandbox does."""

from pathlib import Path
from typing import Any, NamedTuple

from sandbox.findings.all_rules import RULES
from sandbox.findings.english import text_of
from sandbox.findings.finding import Checked
from sandbox.findings.tracker import Key, OpenFinding, Tracker
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
        self.opened: list[Line] = []
        self.closed: list[tuple[float, str]] = []
        self._known: list[Key] = []
        self.other_view: ClusterView | None = None  # that a test made of the last one
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
            self.note()

    def note(self) -> None:
        """Note what opened and closed with the last look."""
        at_s, now = self.now_s, {each.finding.key: each for each in self.tracker.open}
        self.opened += [
            Line(at_s, each.finding.code, each.finding.subject.name, self.text(each))
            for key, each in now.items()
            if key not in self._known
        ]
        self.closed += [(at_s, code) for code, _ in self._known if (code, _) not in now]
        self._known = list(now)

    @property
    def now_s(self) -> float:
        return (self.world.cluster.clock.now_ms() - BEGIN_MS) / 1000

    @property
    def tracker(self) -> Tracker:
        return self.world.sandbox.findings.watch.tracker

    @property
    def view(self) -> ClusterView:
        view = self.other_view or self.world.sandbox.findings.watch.view
        assert view is not None
        return view

    def text(self, found: OpenFinding) -> str:
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
        return next(rule for rule in RULES if rule.code == code).checks(self.view)
