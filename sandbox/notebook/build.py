"""Sandboxes for a notebook or a script: build a cluster, advance time, read values (docs/notebook.md)."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from sandbox.control.actions import parse_action
from sandbox.control.questions import parse_question
from sandbox.journal.schema import Row
from sandbox.kernel.errors import ActionRefused
from sandbox.notebook.lab_task import PHASES, LabResult, LabTask, lab_of, result_of, task_of
from sandbox.notebook.recipe_run import RecipeRun
from sandbox.notebook.runs import RealRun, Run, VirtualRun
from sandbox.queries.rows.board import QueueEnds
from sandbox.queries.rows.findings import FindingRow
from sandbox.queries.rows.snapshot import GroupQueueRow, Snapshot

LOOK_S = 0.001  # time of the turn that writes the result of an answer


class QueueView(NamedTuple):
    """One queue of a topic for a group.  Offsets have RocketMQ's meaning; None is unknown."""

    queue: str  # broker-a:3
    min_offset: int | None
    max_offset: int | None
    committed_offset: int | None
    in_memory_offset: int | None
    next_pull_offset: int | None
    owner: str | None  # label of the member that holds it
    from_zero: bool = False  # no offset is stored, and all messages wait

    @property
    def lag(self) -> int | None:
        """The messages behind the committed offset (mqadmin's difference), or None if it is unknown.

        A queue without a committed offset counts from 0 if the group reads the topic.
        """
        begin = 0 if self.committed_offset is None and self.from_zero else self.committed_offset
        return None if self.max_offset is None or begin is None else self.max_offset - begin


class Sandbox:
    """A cluster of brokers, name servers, producers and consumers; `virtual` time passes only in `run`.

    `template` and `preset` are those of the web page (docs/sandboxes.md).  Without a `home` the files are deleted
    when the sandbox is closed.  `recipe`, instead of all of these: the run of a reproducible link (docs/sharing.md),
    which continues after its last event.  Every method raises ActionRefused, with a hint, for anything that a
    sandbox refuses.

    >>> with Sandbox(seed=1) as box:
    ...     box.topic("orders", queues=1)
    ...     box.send("orders", 3)
    ...     box.run(1)
    ...     [(q.min_offset, q.max_offset) for q in box.queues("orders")]
    [(0, 3)]
    """

    def __init__(
        self,
        template: str = "empty",
        *,
        seed: int | str = 0,
        preset: str = "sandbox",
        virtual: bool = True,
        home: str | Path | None = None,
        recipe: str | None = None,
    ) -> None:
        if recipe is not None:
            self._run: Run = RecipeRun(recipe)
            return
        kind = VirtualRun if virtual else RealRun
        self._run = kind(Path(home) if home is not None else None, template, seed=seed, preset=preset)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the sandbox.  Files under a given `home` stay."""
        self._run.close()

    # Time.

    def run(self, seconds: float) -> None:
        """Advance the machine's time; at rate 1 the sandbox's time advances as much."""
        self._run.pass_s(seconds)

    def run_until(self, condition: Callable[[], bool], *, within_s: float = 120, step_s: float = 0.25) -> float:
        """Advance time until `condition` is true; return the seconds it took.  Raises TimeoutError after `within_s`."""
        passed_s = 0.0
        while not condition():
            if passed_s >= within_s:
                raise TimeoutError(f"not within {within_s:g} s")
            self.run(step_s)
            passed_s += step_s
        return passed_s

    # Actions: all of docs/actions.md by `act`, the most usual ones by a method of their own.

    def act(self, action: str, **fields: Any) -> int:
        """Execute an action by name and fields; return the seq of its `ActionTaken` in the journal."""
        return self._run.act(parse_action({"action": action, **fields}))

    def topic(self, topic: str, *, queues: int = 4) -> None:
        """Create a topic on every broker, with `queues` write and read queues each."""
        self.act("CreateTopic", topic=topic, write_queues=queues, read_queues=queues)

    def consumer(self, actor: str, group: str, *topics: str, **fields: Any) -> None:
        """Start a member called `actor`; `fields` are those of StartConsumer (work_ms=20, listener="orderly", …)."""
        if isinstance(fields.get("work_ms"), int):
            fields["work_ms"] = [fields["work_ms"]]
        self.act("StartConsumer", actor=actor, group=group, subscriptions=[[topic, "*"] for topic in topics], **fields)

    def producer(self, actor: str, topic: str, *, rate_per_s: float = 5, **fields: Any) -> None:
        """Start a producer that sends continuously."""
        self.act("StartProducer", actor=actor, topic=topic, rate_per_s=rate_per_s, **fields)

    def send(self, topic: str, count: int = 1, **fields: Any) -> None:
        """Send messages; `key` may contain `{n}`.  They are stored once time has passed."""
        self.act("SendMessages", topic=topic, count=count, **fields)

    def slow(self, actor: str, *, key: str, ms: int) -> None:
        """Make the member take `ms` milliseconds for each message with this key from now on."""
        self.act("ChangeActor", actor=actor, slow_key=key, slow_ms=ms)

    def crash(self, actor: str) -> None:
        """Crash an actor's process, as kill -9 does: nothing is committed, unlocked or unregistered."""
        self.act("CrashActor", actor=actor)

    def stop(self, actor: str) -> None:
        """Stop an actor cleanly, which takes some of the sandbox's time."""
        self.act("StopActor", actor=actor)

    # Guided labs (docs/labs.md), by number or slug.

    def lab(self, name: str | None = None) -> LabTask:
        """Start a lab, as a page does in a new sandbox, and return its open task.

        Without a name, or if the lab is in progress, return the open task only.
        """
        row = self.ask("lab-state")["lab"]
        if name is not None and (row is None or row["lab"] != lab_of(name).slug):
            self.act("StartLab", lab=lab_of(name).slug)
            row = self.ask("lab-state")["lab"]
        if row is None:
            raise ActionRefused(409, "No lab is in progress here.", 'Start a lab by its number, for example lab("4").')
        return task_of(row)

    def answer(self, value: float | str) -> LabTask:
        """Answer the open question of the lab in progress and return the next task."""
        task = self.lab()
        if task.phase not in PHASES:
            raise ActionRefused(
                409, "Step {step} has no question now.", "First do what the step asks for.", step=task.step
            )
        self.act(
            "AnswerStep",
            lab=lab_of(task.lab).slug,
            step=task.step,
            part=task.phase,
            value=value if isinstance(value, str) else f"{value:g}",
        )
        self.run(LOOK_S)
        return self.lab()

    def check(self, name: str) -> LabResult:
        """Return the grade by the lab's own checks of the journal.

        The page, `manage.py lab play` and Spark compute the same.
        """
        return result_of(lab_of(name), self.events())

    # Reading.

    def ask(self, question: str, **fields: Any) -> dict[str, Any]:
        """Return the answer to a question of docs/actions.md, which changes nothing."""
        return self._run.ask(parse_question(question, fields))

    def snapshot(self) -> Snapshot:
        """Return the whole state now, as the JSON API returns it: 64-bit numbers are text."""
        return self._run.snapshot()

    def findings(self) -> list[FindingRow]:
        """Return the open findings, the worst first, each consequence after its cause; `text` is in English."""
        return self._run.findings()["findings"]

    @property
    def now_ms(self) -> int:
        """The sandbox's time in ms."""
        return int(self.snapshot()["at_ms"])

    def queues(self, topic: str, group: str | None = None) -> list[QueueView]:
        """Return the topic's queues, with the offsets of `group`; a broadcasting group has a row per member."""
        snapshot = self.snapshot()
        ends = {
            f"{queue['broker']}:{queue['queue_id']}": queue
            for row in snapshot["topics"]
            if row["topic"] == topic
            for queue in row["queues"]
        }
        if group is None:
            return [_view(name, end, None, {}) for name, end in ends.items()]
        group_row = next((row for row in snapshot["groups"] if row["group"] == group), None)
        if group_row is None:
            return []
        labels = {member["client_id"]: member["actor"] for member in group_row["members"]}
        return [
            _view(name, ends.get(name), queue_row, labels)
            for queue_row in group_row["queues"]
            if queue_row["topic"] == topic and (name := f"{queue_row['broker']}:{queue_row['queue_id']}")
        ]

    def events(self, kind: str | None = None, *, after: int = -1) -> list[Row]:
        """Return the journal's entries after a `seq`, of one type or all (docs/events.md).

        They are flat rows for a data frame.
        """
        return [row for row in self._run.rows(after) if kind in (None, row["type"])]


def _view(
    name: str, ends: QueueEnds | None, queue_row: GroupQueueRow | None, labels: dict[str, str | None]
) -> QueueView:
    view = QueueView(
        queue=name,
        min_offset=_number(ends and ends["min"]),
        max_offset=_number(ends and ends["max"]),
        committed_offset=None,
        in_memory_offset=None,
        next_pull_offset=None,
        owner=None,
    )
    if queue_row is None:
        return view
    owner = queue_row["owner"]
    return view._replace(
        committed_offset=_number(queue_row["committed"]),
        in_memory_offset=_number(queue_row["in_memory"]),
        next_pull_offset=_number(queue_row["next_pull"]),
        owner=labels.get(owner) or owner if owner else None,
        from_zero=queue_row.get("from_zero", False),
    )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
