"""All actors (in-process producers and consumers) of a sandbox, by label."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from sandbox.client.allocate import AllocateMessageQueueStrategy
from sandbox.client.config import ClientConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.tasks import Tasks
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.actors.feeds import FeedInterrupted, prepare_flights
from sandbox.cluster.actors.group_stats import GroupStats
from sandbox.cluster.actors.producer_actor import ProducerActor
from sandbox.cluster.actors.repeats import Repeats
from sandbox.cluster.actors.send_rate_limit import SendRateLimit
from sandbox.cluster.actors.strategies import make_strategy
from sandbox.cluster.causes import Coro, with_cause
from sandbox.cluster.client_files import ClientFiles
from sandbox.cluster.context import Context
from sandbox.control.actions import StartConsumer, StartProducer
from sandbox.journal.events import Entry, MemberStateChanged
from sandbox.journal.events.members import ENDED
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.kernel.ids import client_id, instance_name

log = logging.getLogger(__name__)

FIRST_PID = 4_001
FIRST_HOST = 11  # 10.0.0.11 is the first actor's address: two digits each, so that ids sort as labels do
BIRTHS_KEPT = 512
STOP_PATIENCE_S = 2.0  # of the machine's time; an actor that has not stopped by then is left as after a crash

Actor = ConsumerActor | ProducerActor


class Actors:
    """Actors of a sandbox.  Each runs as a process of its own; its label, settings and colour outlive the process.

    `processes` counts starts since the sandbox was created, so that no client id is used twice.
    """

    def __init__(self, context: Context, home: Path, name_servers: list[str], processes: int) -> None:
        self._context = context
        self._home = home
        self._name_servers = tuple(name_servers)
        self.processes = processes
        self.by_label: dict[str, Actor] = {}
        self.strategies: dict[str, dict[str, Any]] = {}  # group → what SetStrategy set
        self.group_stats: dict[str, GroupStats] = {}
        self.repeats = Repeats(context.clock, context.journal, self.label_of)
        self._born: dict[str, tuple[str, str | None]] = {}  # client id → label and room, dead processes included
        self.pace = SendRateLimit(context.environment.wall, context.journal, context.limits.stored_messages_per_s)
        self.is_wire_client: Callable[[str], bool] = lambda client: False  # set by the sandbox
        self._tasks = Tasks("actors")

    # Lookup.

    def consumers(self, group: str | None = None) -> list[ConsumerActor]:
        """Return the consumers of a group, or of all groups, in order of their labels."""
        return [
            actor
            for _, actor in sorted(self.by_label.items())
            if isinstance(actor, ConsumerActor) and group in (None, actor.group)
        ]

    def newest_of(self, group: str) -> ConsumerActor | None:
        """Return the member of the group that was started last, alive or not; None without members."""
        return max(self.consumers(group), default=None, key=lambda actor: (actor.since_ms, actor.label))

    def producers(self) -> list[ProducerActor]:
        return [actor for _, actor in sorted(self.by_label.items()) if isinstance(actor, ProducerActor)]

    def get(self, label: str) -> Actor:
        """Return the actor with this label, client id or row key.  Raises ActionRefused (404, 409)."""
        actor = self.find(label)
        if actor is None and self.is_wire_client(label):
            raise ActionRefused(
                409,
                "{client} connected over a real network: its process is not part of this sandbox.",
                "Cut the connection of the client instead.",
                field="actor",
                client=label,
            )
        if actor is None:
            raise ActionRefused(
                404, "Actor {actor} does not exist.", "The actor may have been removed.", field="actor", actor=label
            )
        return actor

    def find(self, name: str) -> Actor | None:
        """Return an actor by label, client id (the first process with it) or `<client id> <label>`, or None."""
        actors = self.by_label.values()
        return (
            self.by_label.get(name)
            or next((actor for actor in actors if actor.client_id == name), None)
            or next((actor for actor in actors if actor.client_id and name == f"{actor.client_id} {actor.label}"), None)
        )

    def names_of(self, client_id: str) -> str | None:
        """Return the labels of the live processes with this client id (`A`, `A/B`), or the last label that had it."""
        living = sorted(actor.label for actor in self.by_label.values() if actor.client_id == client_id and actor.lives)
        return "/".join(living) or self.label_of(client_id)

    # Queue allocation (`strategies.Places`).

    def strategy_for(self, settings: StartConsumer) -> AllocateMessageQueueStrategy:
        """Return the strategy that SetStrategy set for the group, else that of the member's own settings."""
        return make_strategy(self.strategies.get(settings.group) or {"strategy": settings.strategy}, self)

    def label_of(self, client_id: str) -> str | None:
        return self._born.get(client_id, (None, None))[0]

    def room_of(self, client_id: str) -> str | None:
        return self._born.get(client_id, (None, None))[1]

    def _note_birth(self, actor: ConsumerActor) -> None:
        """Record label and room of a client id, because brokers report a dead process for a while."""
        if actor.settings.client_id_of is None or actor.client_id not in self._born:
            self._born[actor.client_id] = (actor.label, actor.settings.room)
        if len(self._born) > BIRTHS_KEPT:
            del self._born[next(iter(self._born))]

    def stats_of(self, group: str) -> GroupStats:
        if group not in self.group_stats:
            self.group_stats[group] = GroupStats(self._context.clock, partial(self.repeats.came, group))
        return self.group_stats[group]

    def next_label(self) -> str:
        return self.next_labels(1)[0]

    def next_labels(self, count: int) -> list[str]:
        """Return the first `count` free labels: A, B, … Z, A2, …"""
        names = (
            letter if number == 1 else f"{letter}{number}" for number in range(1, 100) for letter in ascii_uppercase
        )
        return list(islice((name for name in names if name not in self.by_label), count))

    def next_client_ids(self, count: int) -> list[str]:
        """Return the client ids of the next `count` members, if nothing else starts before them."""
        used = {actor.slot for actor in self.by_label.values()}
        slots = [slot for slot in range(240) if slot not in used][:count]
        return [_client_id(slot, self.processes + number) for number, slot in enumerate(slots, start=1)]

    # Adding.

    def add_consumers(self, action: StartConsumer) -> list[ConsumerActor]:
        """Create the actors of a StartConsumer, not yet started."""
        added: list[ConsumerActor] = []
        for number in range(1, action.copies + 1):
            label = self._label(action.actor, number, action.copies)
            used = {actor.colour for actor in self.consumers(action.group)}
            colour = next((c for c in range(6) if c not in used), len(used) % 6)
            actor = ConsumerActor(label, self._free_slot(), colour, replace(action, actor=label, copies=1))
            self.by_label[label] = actor
            added.append(actor)
        return added

    def add_producer(self, action: StartProducer) -> ProducerActor:
        label = action.actor if action.actor and action.actor not in self.by_label else self._producer_label(action)
        actor = ProducerActor(label, self._free_slot(), replace(action, actor=label))
        self.by_label[label] = actor
        return actor

    def remove(self, label: str) -> None:
        self.by_label.pop(label, None)

    # Processes.

    def start(self, actor: Actor) -> None:
        """Start a new process with a new client id.  Its further life is reported by events."""
        instance = self._shared_instance(actor) or self._new_instance(actor)
        if isinstance(actor, ConsumerActor):
            actor.begin(instance, self.stats_of(actor.group), self._context.preset, self.strategy_for(actor.settings))
            self._note_birth(actor)
            instance.tasks.spawn(self._with_cause(actor.run), f"start {actor.label}")
        else:
            actor.begin(instance, self._context.environment.wall, self.pace, self._context.preset)
            instance.tasks.spawn(self._produce(actor), f"produce {actor.label}")

    async def _produce(self, actor: ProducerActor) -> None:
        table: Path | None = None
        if actor.settings.feed is not None:
            try:
                table = await self._context.environment.run_long(lambda is_over: prepare_flights(self._home, is_over))
            except FeedInterrupted:
                return  # it runs again when the sandbox wakes
            except (OSError, SandboxError) as error:
                actor.refuse(f"its feed cannot be read: {error}")
                return
        await actor.run(table)

    def stop(self, actor: Actor) -> None:
        self._tasks.spawn(self._with_cause(actor.stop), f"stop {actor.label}")

    def _with_cause(self, begin: Callable[[], Coro]) -> Coro:
        """Return a coroutine that runs `begin` with the action of this turn (if any) as the cause of its events."""
        journal = self._context.journal
        return with_cause(journal.cause, journal, begin)

    def crash(self, actor: Actor) -> None:
        """Kill the actor's process as kill -9 does; all actors of the process end with it."""
        instance = actor.instance
        if instance is not None:
            for member in self.consumers():
                if member.instance is instance:
                    self.stats_of(member.group).crashed(member.owned_queues())
                    self.repeats.crashed(member.group, member.account, member.client_id, member.given())
            instance.crash()
            for other in self.by_label.values():
                if other.instance is instance and isinstance(other, ProducerActor):
                    other.rest("crashed")

    def hang(self, actor: Actor) -> None:
        if actor.instance is not None:
            actor.instance.hang()

    def resume(self, actor: Actor) -> None:
        if actor.instance is not None:
            actor.instance.resume()

    def later(self, coroutine: Any, name: str) -> None:
        """Run a coroutine of the sandbox in the background (a burst of messages); it ends with the sandbox."""
        self._tasks.spawn(coroutine, name)

    async def stop_all(self) -> None:
        """Stop all actors cleanly and at the same time; kill those that hang or do not end in time."""
        for actor in self.by_label.values():
            if actor.state == "hung":
                self.crash(actor)
        living = [actor for actor in self.by_label.values() if actor.lives]
        stops = [asyncio.ensure_future(actor.stop()) for actor in living]
        if stops:
            await asyncio.wait(stops, timeout=STOP_PATIENCE_S)
        for actor, stop in zip(living, stops, strict=True):
            if not stop.done() or stop.exception() is not None:
                log.warning("stopping %s was cut short", actor.label)
                stop.cancel()
                self.crash(actor)
        self._tasks.cancel()

    def crash_all(self) -> None:
        self._tasks.cancel()
        for actor in list(self.by_label.values()):
            self.crash(actor)

    def note(self, entry: Entry) -> None:
        """Record from a journal entry when a member entered its state."""
        event = entry.event
        if isinstance(event, MemberStateChanged):
            for actor in self.consumers(event.group):
                # of several processes with one client id the event is about one
                if actor.client_id == event.client_id and actor.state == event.state != actor.noted_state:
                    actor.noted_state, actor.state_since_ms = event.state, entry.at_ms

    # Over sleep.

    def records(self) -> list[dict[str, object]]:
        return [actor.record() for _, actor in sorted(self.by_label.items())]

    def restore(self, records: list[dict[str, object]], *, crashed: bool) -> list[Actor]:
        """Restore labels and settings; return the actors that ran, to be started as new processes.

        After a kill of the server their old processes count as crashed, and the journal records it.
        """
        ran: list[Actor] = []
        for record in records:
            actor = ConsumerActor.of(record) if record["kind"] == "consumer" else ProducerActor.of(record)
            self.by_label[actor.label] = actor
            if record["state"] not in ENDED:  # it had a process
                actor.rest("crashed" if crashed else "stopped")
                if record["state"] != "stopping":  # stopped by a user: it stays stopped
                    ran.append(actor)
                if crashed and isinstance(actor, ConsumerActor):
                    self._context.journal.write(MemberStateChanged(actor.group, actor.client_id, "crashed", ()))
        return sorted(ran, key=lambda actor: getattr(actor.settings, "client_id_of", None) is not None)  # copies last

    def _new_instance(self, actor: Actor) -> ClientInstance:
        context = self._context
        ip, name, pid = self._copied_identity(actor) or self._own_identity(actor)
        config = ClientConfig(
            name_servers=self._name_servers,
            ip=ip,
            instance_name=name,
            pid=pid,
            stream=isinstance(actor, ConsumerActor) and actor.settings.kind != "push",
            rebalance_ms=context.preset.client_rebalance_interval_ms,
            lock_renew_ms=context.preset.client_lock_interval_ms,
            lock_max_live_ms=context.preset.client_lock_max_live_ms,
            body_bytes=context.limits.body_bytes,
        )
        return ClientInstance(
            config,
            clock=context.clock,
            chance=context.chance.fork(actor.label),
            connector=context.network.connector(_ip(actor.slot)),
            journal=context.journal,
            files=self.files_of(actor),
        )

    def _own_identity(self, actor: Actor) -> tuple[str, str, int]:
        """Return address, instance name and process id of a new process."""
        broadcasts = isinstance(actor, ConsumerActor) and actor.settings.model == "BROADCASTING"
        self.processes += 1
        pid = FIRST_PID + self.processes - 1
        # a broadcasting member keeps DEFAULT, so that its offset file is found again (spec client-behaviour 1.1)
        return _ip(actor.slot), "DEFAULT" if broadcasts else instance_name(pid, self.processes), pid

    def _copied_identity(self, actor: Actor) -> tuple[str, str, int] | None:
        """Return address, instance name and process id of the member that this one copies, else None.

        If that member was removed, they are those of its own last process.  A container with the host's address and
        its own process ids reports what its copy reports; brokers receive another address of the connection.
        """
        if not isinstance(actor, ConsumerActor) or actor.settings.client_id_of is None:
            return None
        other = self.by_label.get(actor.settings.client_id_of)
        client = (other.client_id if other is not None else "") or actor.client_id
        if not client:
            return None
        ip, name = client.removesuffix("@STREAM").split("@", 1)
        return ip, name, int(name.partition("#")[0])

    def files_of(self, actor: Actor) -> ClientFiles:
        return ClientFiles(self._context.directory / "clients" / actor.label)

    def _shared_instance(self, actor: Actor) -> ClientInstance | None:
        if not isinstance(actor, ConsumerActor) or actor.settings.instance is None:
            return None
        host = self.get(actor.settings.instance)
        if host.instance is None or not host.lives:
            raise ActionRefused(
                409,
                "{actor} is not running, so its client cannot be shared.",
                "Start {actor} first.",
                field="instance",
                actor=host.label,
            )
        if actor.group in host.instance.consumers:
            raise ActionRefused(
                409,
                "The client of {actor} already has a member of {group}.",
                "Choose another group, or give the new consumer its own client.",
                field="instance",
                actor=host.label,
                group=actor.group,
            )
        return host.instance

    def _label(self, wished: str | None, number: int, copies: int) -> str:
        if wished is None:
            return self.next_label()
        label = wished if copies == 1 else f"{wished}.{number}"
        if label in self.by_label:
            raise ActionRefused(
                409, "Actor {actor} already exists.", "Choose another name.", field="actor", actor=label
            )
        return label

    def _producer_label(self, action: StartProducer) -> str:
        if action.actor is not None:
            raise ActionRefused(
                409, "Actor {actor} already exists.", "Choose another name.", field="actor", actor=action.actor
            )
        numbers = range(1, 1_000)
        return next(label for n in numbers if (label := f"producer-{n}") not in self.by_label)

    def _free_slot(self) -> int:
        used = {actor.slot for actor in self.by_label.values()}
        return next(slot for slot in range(240) if slot not in used)


def _ip(slot: int) -> str:
    return f"10.0.0.{FIRST_HOST + slot}"


def slot_of_ip(ip: str) -> int | None:
    """Return the actor slot of an address; None if it is no actor's address."""
    network, _, host = ip.rpartition(".")
    return int(host) - FIRST_HOST if network == "10.0.0" and int(host) >= FIRST_HOST else None


def _client_id(slot: int, process: int) -> str:
    return client_id(_ip(slot), instance_name(FIRST_PID + process - 1, process))


def start_or_refuse(actors: Actors, actor: Actor) -> None:
    """Start an actor.  Raises ActionRefused (422) with the reason if its configuration is not allowed."""
    try:
        actors.start(actor)
    except ActionRefused:
        raise
    except SandboxError as error:
        raise ActionRefused(422, "{actor} cannot start: {why}.", actor=actor.label, why=str(error)) from error
