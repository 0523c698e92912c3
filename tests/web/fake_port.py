"""An engine port with nothing behind it: answers at once, records requests, and refuses what a test asks it to."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from sandbox.cluster.templates import template_of
from sandbox.control.actions import Action
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.control.interventions import Done
from sandbox.control.questions import Question
from sandbox.control.readings import Entries, LookedBack, Read, Reading, Refusal
from sandbox.control.rights import Actor
from sandbox.hosting.repeatable_ranges import Line, Stretch
from sandbox.journal.event_filter import FLOW_NAMES, EventFilter
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.changes import Changes
from sandbox.queries.state_at import Kept, StateAt

SNAPSHOT: dict[str, Any] = {
    "epoch": "7f3a",
    "seq": "18402",
    "at_ms": 1_795_142_537_350,
    "wall_ms": 1_795_142_537_350,
    "machine_ms": 1_795_142_537_350,
    "rate": 1,
    "rate_pinned": False,
    "name_servers": [{"name": "ns-1", "state": "running", "brokers": []}],
    "brokers": [
        {
            "broker": "broker-a",
            "broker_id": 0,
            "role": "ASYNC_MASTER",
            "state": "running",
            "address": "127.0.0.1:1",
            "listening": False,
            "flush": "ASYNC_FLUSH",
            "replication": "ASYNC_MASTER",
            "disk": "ok",
            "log": {"min": "0", "max": "4096", "flushed": "4096", "replicated": None, "file_bytes": 1_048_576},
        }
    ],
    "topics": [
        {
            "topic": "orders",
            "kind": "normal",
            "permission": 6,
            "read_queues": 1,
            "write_queues": 1,
            "queues": [{"broker": "broker-a", "queue_id": 0, "min": "0", "max": "15306", "rate_per_s": 6.0}],
        }
    ],
    "producers": [],
    "groups": [
        {
            "group": "order-svc",
            "model": "CLUSTERING",
            "listener": "concurrent",
            "strategy": "AVG",
            "subscription": [{"topic": "orders", "expression": "*"}],
            "members": [],
            "queues": [],
            "counts": {"delivered_again": 0, "retrying": 0, "dead_letters": 0},
        }
    ],
}


ATTACHED: dict[str, Any] = {
    **SNAPSHOT,
    "at_ms": 1_795_142_537_350,
    "name_servers": [{"name": "ns-1", "state": "running", "brokers": []}],
    "brokers": [
        {
            "broker": "broker-a",
            "broker_id": 0,
            "role": "master",
            "state": "running",
            "address": "10.0.0.9:10911",
            "listening": None,
            "flush": None,
            "replication": None,
            "disk": None,
            "version": "4.9.7",
            "log": dict.fromkeys(("min", "max", "flushed", "replicated", "file_bytes")),
        }
    ],
    "producers": [],
}
"""What of a snapshot a real cluster reports."""


CRASH_TAKEN = {
    "seq": "7",
    "at_ms": 7,
    "type": "ActionTaken",
    "cause": None,
    "action": "CrashActor",
    "fields": {"actor": "A"},
    "by": "owner",
}
"""The journal's row of an owner who crashed A."""


class FakePort:
    """`boards`: what a channel shows; `rows`: the journal; `refuse`: the next verb of that name raises it."""

    def __init__(self) -> None:
        self.sandboxes: dict[str, str] = {}  # slug -> state
        self.attached: dict[str, Any] = {}  # slug -> settings
        self.listening: set[str] = set()  # slugs with open ports
        self.attach_count = 0
        self.trouble: str | None = None  # of attached clusters
        self.answering = 3  # of the three nodes of each
        self.boards: dict[str, Reading] = {}
        self.rows: list[dict[str, Any]] = []
        self.first_seq = 0
        self.acted: list[tuple[str, Action, Actor]] = []
        self.intervened: list[tuple[str, str, str]] = []  # slug, kind, by whom
        self.renewed: list[str] = []  # slugs of holds
        self.branched: list[Any] = []  # the order of each
        self.undone: list[Any] = []  # the undo point of each
        self.asked: list[Question] = []
        self.answers: dict[str, Any] = {}
        self.answers_to: dict[type[Question], dict[str, Any]] = {}  # of these kinds others
        self.refuse: dict[str, Exception] = {}
        self.killed: set[str] = set()  # slugs of sandboxes whose server was killed
        self.silent: set[str] = set()  # verbs that never answer
        self.bells: dict[str, list[Any]] = {}
        self.read_count = 0
        self.costs_s: dict[str, float] = {}  # channel -> how long reading it takes
        self.call_later: Callable[[float, Callable[[], Any]], Any] | None = None  # of a loop, where that takes time
        self.notices: dict[str, list[dict[str, Any]]] = {}  # by slug
        self.recorded_scores: list[bool] = []  # of each recording that was asked for, whether scores are in it
        self.recordings: dict[str, Any] = {}  # slug -> the file; others are half made
        self.with_history: dict[str, bool] = {}  # slug -> as create was asked
        self.seeds: dict[str, object] = {}
        self.keys: dict[str, Any] = {}  # slug -> what set_keys was given last

    def create(
        self,
        slug: str,
        template: str,
        *,
        preset: str = "sandbox",
        seed: Any = None,
        history: bool = False,
        changes: Any = None,
    ) -> "Future[Any]":
        def work() -> dict[str, Any]:
            template_of(template)
            self.with_history[slug], self.seeds[slug] = history, seed
            self.sandboxes[slug] = "live"
            return {"slug": slug}

        return self._do("create", work)

    def branch(self, slug: str, order: Any) -> "Future[Any]":
        def work() -> dict[str, Any]:
            if not isinstance(order, RunOrder):
                self._known(order.parent)
            self.branched.append(order)
            self.sandboxes[slug] = "branching"
            return {"slug": slug}

        return self._do("branch", work)

    def recipe(self, slug: str, at: int) -> "Future[RunOrder]":
        def work() -> RunOrder:
            self._known(slug)
            came = (Came(40, 9_000, "CrashActor", {"actor": "A"}), Came(70, 12_000, "idle", None, 1_795_000_090_000))
            return RunOrder(
                template="orders",
                preset="sandbox",
                seed="7",
                wall_ms=1_795_000_000_000,
                memory_bytes=2**34,
                first_port=20_000,
                conditions="abc",
                came=came,
                until=at,
                until_ms=1_795_000_095_000,
                moments=(1_795_000_009_000, 1_795_000_012_000),
            )

        return self._do("recipe", work)

    def wake(self, slug: str) -> "Future[Any]":
        return self._do("wake", lambda: self.sandboxes.__setitem__(self._known(slug), "live"))

    def sleep(self, slug: str, reason: str) -> "Future[Any]":
        return self._do("sleep", lambda: self.sandboxes.__setitem__(self._known(slug), "asleep"))

    def open_listener(self, slug: str) -> "Future[Any]":
        return self._do("open_listener", lambda: {"open": bool(self._known(slug)), "name_servers": ["127.0.0.1:1"]})

    def close_listener(self, slug: str) -> "Future[Any]":
        return self._do("close_listener", lambda: {"open": not self._known(slug), "name_servers": []})

    def set_keys(self, slug: str, keys: Any) -> "Future[Any]":
        return self._do("set_keys", lambda: self.keys.__setitem__(self._known(slug), keys))

    def dismiss_notices(self, slug: str) -> "Future[Any]":
        return self._do("dismiss_notices", lambda: self.notices.pop(self._known(slug), None))

    def delete(self, slug: str) -> "Future[Any]":
        return self._do("delete", lambda: self.sandboxes.pop(self._known(slug)))

    def attach(self, slug: str, settings: Any) -> "Future[Any]":
        def work() -> dict[str, Any]:
            self.attach_count += 1
            self.attached[slug] = settings
            return {"slug": slug}

        return self._do("attach", work)

    def detach(self, slug: str) -> "Future[Any]":
        return self._do("detach", lambda: self.attached.pop(self._known(slug)))

    def act(self, slug: str, action: Action, by: Actor, *, undo: Any = None) -> "Future[int]":
        def work() -> int:
            self.undone.append(undo)
            self.acted.append((self._known(slug), action, by))
            return 18_430 + len(self.acted)

        return self._do("act", work)

    def intervene(self, slug: str, what: Any, by: Actor) -> "Future[Any]":
        def work() -> Done:
            self._known(slug)
            if self.sandboxes[slug] != "live":
                raise ActionRefused(
                    503, "The sandbox is {state}.", "Wake the sandbox first.", state=self.sandboxes[slug]
                )
            self.intervened.append((slug, what.kind, str(by)))
            return Done(len(self.intervened), 5_000, 5_000, 3.0)

        return self._do("intervene", work)

    def renew_hold(self, slug: str, lease_s: float) -> "Future[None]":
        return self._do("renew_hold", lambda: self.renewed.append(slug))

    def ask(self, slug: str, question: Question) -> "Future[dict[str, Any]]":
        def work() -> dict[str, Any]:
            self.asked.append(question)
            return dict(self.answers_to.get(type(question), self.answers))

        return self._do("ask", work)

    def read(self, channels: Sequence[str], *, last: bool = False) -> "Future[list[Reading | Refusal]]":
        def work() -> list[Reading | Refusal]:
            self.read_count += 1
            return [self._seen(name, last=last) for name in channels]

        return self._do("read", work)

    def read_within(self, channels: Sequence[str], budget_s: float) -> "Future[list[Read]]":
        """Takes as long as the boards cost."""

        def work() -> list[Read]:
            self.read_count += 1
            found: list[Read] = []
            for name in channels:
                if found and sum(read.took_s for read in found) >= budget_s:
                    break
                found.append(Read(self._seen(name), self.costs_s.get(name, 0.0)))
            return found

        future = self._do("read", work)
        took_s = sum(read.took_s for read in future.result()) if self.costs_s and future.done() else 0.0
        return self._after(took_s, future)

    def _after(self, seconds: float, done: "Future[Any]") -> "Future[Any]":
        if not seconds or self.call_later is None:
            return done
        late: Future[Any] = Future()
        self.call_later(seconds, lambda: late.cancelled() or late.set_result(done.result()))
        return late

    def newest_seq(self, slug: str) -> "Future[int]":
        return self._do("newest_seq", lambda: int(self.rows[-1]["seq"] if self.rows else SNAPSHOT["seq"]))

    def snapshot(self, slug: str) -> "Future[dict[str, Any]]":
        def work() -> dict[str, Any]:
            if slug in self.attached:
                row = {
                    "slug": slug,
                    "name": slug,
                    "template": "attached",
                    "seen_ms": ATTACHED["at_ms"] - 2_000,
                    "trouble": self.trouble,
                    "troubles": [{"pattern": self.trouble, "values": {}}] if self.trouble else [],
                    "state": "unreachable" if self.trouble else "live",
                }
                return {**ATTACHED, "seq": str(self.rows[-1]["seq"]) if self.rows else ATTACHED["seq"], "sandbox": row}
            state = self.sandboxes[self._known(slug)]
            sandbox = {
                "slug": slug,
                "name": slug,
                "template": "orders",
                "preset": "sandbox",
                "state": state,
                "notices": self.notices.get(slug, []),
                "killed": slug in self.killed,
            }
            newest = str(self.rows[-1]["seq"]) if self.rows else SNAPSHOT["seq"]
            return {**SNAPSHOT, "seq": newest, "sandbox": sandbox}

        return self._do("snapshot", work)

    def entries(
        self, slug: str, after: int, limit: int, *, facts_only: bool = False, longs_as_text: bool = True
    ) -> "Future[Entries]":
        def work() -> Entries:
            left_out = FLOW_NAMES if facts_only else ()
            rest = [row for row in self.rows if int(row["seq"]) > after and row["type"] not in left_out]
            rows = rest[:limit]
            next_seq = int(rest[limit]["seq"]) if len(rest) > limit else (int(rows[-1]["seq"]) if rows else after) + 1
            return Entries(self.first_seq, rows, next_seq)

        return self._do("entries", work)

    def look_back(
        self, slug: str, wanted: EventFilter, *, before: int | None = None, after: int = -1, most: int = 100
    ) -> "Future[LookedBack]":
        def work() -> LookedBack:
            fitting = [
                row
                for row in reversed(self.rows)
                if after < int(row["seq"]) < (before or 2**63) and wanted.takes(row["type"]) and wanted.fits(row)
            ]
            rest = int(fitting[most - 1]["seq"]) if len(fitting) > most else None
            return LookedBack(fitting[:most], rest, None, self.first_seq)

        return self._do("look_back", work)

    def kept(self, slug: str) -> "Future[Kept]":
        return self._do("kept", lambda: Kept(self.first_seq, int(SNAPSHOT["seq"])) if self._known(slug) else None)

    def line(self, slug: str) -> "Future[Line]":
        def work() -> Line:
            self._known(slug)
            return Line((Stretch(0, 9_000, True, "kill"), Stretch(10_000, 18_402, False, "beginning not kept")), 12)

        return self._do("line", work)

    def changes(self, slug: str, first: int, last: int | None = None) -> "Future[Changes]":
        return self._do("changes", lambda: Changes(first, 18_402, (0, 18_000), []) if self._known(slug) else None)

    def state_at(self, slug: str, at: int | None = None) -> "Future[StateAt]":
        def work() -> StateAt:
            whole: Any = {**SNAPSHOT, "sandbox": {"slug": self._known(slug), "state": "live"}}
            return StateAt(whole, 18_402, 18_000, {"topics": ["max"]}, {"topics": ["rate_per_s"]})

        return self._do("state_at", work)

    def subscribe(self, slug: str, bell: Any) -> "Future[None]":
        return self._do("subscribe", lambda: self.bells.setdefault(self._known(slug), []).append(bell))

    def unsubscribe(self, slug: str, bell: Any) -> "Future[None]":
        return self._do("unsubscribe", lambda: self.bells[slug].remove(bell))

    def status(self) -> "Future[dict[str, Any]]":
        rows = {slug: {"state": state, "listening": slug in self.listening} for slug, state in self.sandboxes.items()}
        figures = {"awake": len(rows), "known": len(rows), "cap": 200, "fds": 20, "fd_limit": 1024}
        nodes = {"state": "live", "seen_ms": 1, "nodes": 3, "answering": self.answering}
        attached = dict.fromkeys(self.attached, nodes)
        return self._do("status", lambda: {**figures, "sandboxes": rows, "attached": attached})

    def _seen(self, channel: str, *, last: bool = False) -> Reading | Refusal:
        state = self.sandboxes.get(channel.split("/")[1], "live")
        if last and state == "asleep":
            return self.boards.get(channel, Refusal("asleep"))
        return self.boards.get(channel, Refusal("unknown")) if state == "live" else Refusal(state)

    def show(self, channel: str, data: dict[str, Any], *, seq: int, rate: float = 1, epoch: str = "7f3a") -> None:
        """Change a board and ring, as the engine does."""
        self.boards[channel] = Reading(seq, 1_000 + seq, rate, epoch, data)
        self.ring(channel.split("/")[1])

    def ring(self, slug: str) -> None:
        for bell in list(self.bells.get(slug, ())):
            bell.ring()

    def _known(self, slug: str) -> str:
        if slug not in self.sandboxes and slug not in self.attached:
            raise ActionRefused(404, "Sandbox {slug} does not exist.", slug=slug)
        return slug

    def _do(self, verb: str, work: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        if verb in self.silent:
            return future
        try:
            if verb in self.refuse:
                raise self.refuse.pop(verb)
            future.set_result(work())
        except Exception as refused:
            future.set_exception(refused)
        return future
