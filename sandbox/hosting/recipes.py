"""Recipes: a recorded run as its seed, configuration and outside events, without its journal; and the way back.

The run of a recipe equals the recorded one to the last byte, except for names.  The actor of every action is
`owner`; the sandbox in which the run began, whose address its keyframes contain, is `recipe`.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sandbox.cluster.config import HostConfig
from sandbox.cluster.journal_files import DIRECTORY
from sandbox.cluster.new_sandbox import highest_port, new_record
from sandbox.cluster.origin import Origin, conditions_of, load_origin
from sandbox.cluster.record import values_of
from sandbox.cluster.templates import template_of
from sandbox.control.actions import fields_of, name_of
from sandbox.control.branch_orders import Came, Done, RunOrder
from sandbox.control.limits import HostLimits
from sandbox.hosting.branching import RECIPE_MS, Run
from sandbox.hosting.repeatable_ranges import line_of
from sandbox.journal.events.life import LimitReached
from sandbox.journal.schema import CAME, Row
from sandbox.journal.segments import lines
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused, SandboxError

RUN = "recipe"  # the sandbox's name in the run's keyframes
LOWEST_PORT, HIGHEST_PORT = 1_024, 65_535  # below, only the system's own may listen
PARSED = (b'"came":', b'"ClockChanged"', b'"SandboxWoken"')
WRITTEN_MEMORY_BYTES = 8 * 1024**3  # of the machine that a recipe without a run assumes
WRITTEN_FIRST_PORT = 20_000  # likewise: stored records contain it, and no such port is opened


def recipe_of(directory: Path, at: int, limits: HostLimits) -> RunOrder:
    """Return the order that reproduces the run up to event `at`.

    Raises ActionRefused: 404 if the event does not exist, 409 if the run cannot be executed again, 422 if it is too
    long.
    """
    stretches = line_of(directory).stretches
    if not stretches or at > stretches[-1].to_seq:
        raise ActionRefused(404, "Event {seq} does not exist.", "Choose an event from the Journal.", seq=at)
    if not stretches[0].reproducible or at > stretches[0].to_seq:
        raise ActionRefused(
            409,
            "At event {seq} this run cannot be replayed.",
            "The sections on the time bar show the reason. Choose an event before that section.",
            seq=at,
        )
    if at >= limits.branch_events:
        raise ActionRefused(
            422,
            "A reproducible link replays at most {most} events.",
            "Choose an earlier event.",
            most=limits.branch_events,
        )
    try:
        origin = load_origin(directory)
    except (SandboxError, OSError) as error:
        raise ActionRefused(
            409, "This run cannot be replayed: {why}.", "Start a new sandbox instead.", why=str(error)
        ) from error
    _demand_template_settings(origin)
    record = origin.record
    rows, until_ms = _rows(directory, at)
    wakes = [row["wall_ms"] for row in rows if row["type"] == "ClockChanged" and row["reason"] == "wake"]
    if not wakes:
        raise ActionRefused(422, "At event {seq} this run has not started.", "Choose a later event.", seq=at)
    host, port = _first_address(origin)
    return RunOrder(
        template=record["template"],
        preset=record["preset"],
        seed=record["seed"],
        wall_ms=wakes[0],
        memory_bytes=origin.memory_bytes,
        first_port=port,
        conditions=conditions_of(origin.config, host),
        came=_came(rows, _wakings(rows)),
        until=at,
        until_ms=until_ms,
        moments=tuple(row["at_ms"] for row in rows if CAME in row),
    )


def written(
    template: str, preset: str, seed: str, done: Iterable[Done], *, begin_ms: int, until_ms: int, config: HostConfig
) -> RunOrder:
    """Return a recipe without a recorded run: the actions of `done`, up to `until_ms` (ms since the beginning)."""
    came = tuple(
        Came(0, act.at_ms, name_of(act.action), fields_of(act.action, whole=True))
        for act in sorted(done, key=lambda act: act.at_ms)
    )
    return RunOrder(
        template=template,
        preset=preset,
        seed=seed,
        wall_ms=begin_ms,
        memory_bytes=WRITTEN_MEMORY_BYTES,
        first_port=WRITTEN_FIRST_PORT,
        conditions=conditions_of(config, config.node_host),
        came=came,
        until=0,
        until_ms=begin_ms + until_ms,
    )


def order_of(origin: Origin, seed: str, done: Iterable[Done], until_ms: int) -> RunOrder:
    """Return the order that reproduces the run of `branching.recipe_run`.

    Raises ActionRefused (409) if the sandbox has settings of its own.
    """
    _demand_template_settings(origin)
    record, (host, port) = origin.record, _first_address(origin)
    order = written(
        record["template"],
        record["preset"],
        seed,
        done,
        begin_ms=RECIPE_MS,
        until_ms=until_ms,
        config=origin.config,
    )
    return replace(
        order,
        memory_bytes=origin.memory_bytes,
        first_port=port,
        conditions=conditions_of(origin.config, host),
    )


def _first_address(origin: Origin) -> tuple[str, int]:
    host, _, port = origin.record["nodes"][0][3].rpartition(":")
    return host, int(port)


def _demand_template_settings(origin: Origin) -> None:
    record = origin.record
    if record["limits"] or record["changes"] != template_of(record["template"]).changes:
        raise ActionRefused(
            409,
            "This sandbox was created with custom settings, which a reproducible link does not contain.",
            "Share a range as a recording instead.",
        )


def _rows(directory: Path, at: int) -> tuple[list[Row], int]:
    """Return the rows up to event `at` that came from outside the run, and the time of that event."""
    rows: list[Row] = []
    line = b""
    for line in lines(directory / DIRECTORY):
        if any(word in line for word in PARSED):
            rows.append(json_bytes.loads(line))
        if line.startswith(b'{"seq":%d,' % at):
            break
    return [row for row in rows if row["seq"] <= at], json_bytes.loads(line)["at_ms"]


def _wakings(rows: list[Row]) -> list[tuple[int, int | None]]:
    """Return, for each waking after sleep, the machine's time and the time asleep, in ms."""
    wakings: list[tuple[int, int | None]] = []
    slept_ms: int | None = None
    for row in rows:
        if row["type"] == "SandboxWoken":
            slept_ms = row["slept_ms"]
        elif row["type"] == "ClockChanged" and row["reason"] == "wake":
            wakings.append((row["wall_ms"], slept_ms))
    return wakings[1:]


def _came(rows: list[Row], wakings: list[tuple[int, int | None]]) -> tuple[Came, ...]:
    came: list[Came] = []
    slept = 0
    for row in rows:
        if CAME not in row:
            continue
        turn, ms = row[CAME]
        if row["type"] == "ActionTaken":
            came.append(Came(turn, ms, row["action"], row["fields"]))
        elif row["type"] == "SandboxSlept":
            waking = wakings[slept] if slept < len(wakings) else (0, None)
            slept += 1
            came.append(Came(turn, ms, row["reason"], None, *waking))
        else:
            came.append(Came(turn, ms, None, {name: row[name] for name in LimitReached._fields}))
    return tuple(came)


def run_of(order: RunOrder, config: HostConfig) -> Run:
    """Return the run of a recipe.

    Raises ActionRefused: 409 if this server's settings differ, 422 if the template, preset or port is not available.
    """
    if order.conditions != conditions_of(config, config.node_host):
        raise ActionRefused(
            409,
            "The limits of this server and of the reproducible link differ: the run would differ.",
            "Open the link on the server where it was created, or request a recording.",
        )
    if order.until >= config.limits.branch_events:
        raise ActionRefused(
            422,
            "A reproducible link replays at most {most} events.",
            "End the reproducible link at an earlier event.",
            most=config.limits.branch_events,
        )
    first_port = max(order.first_port, LOWEST_PORT)
    if highest_port(order.template, first_port) > HIGHEST_PORT:
        raise ActionRefused(
            422,
            "The ports of this reproducible link begin at {first} and end above 65535.",
            "Request a new link.",
            first=first_port,
        )
    record = new_record(
        RUN,
        order.template,
        preset=order.preset,
        seed=order.seed,
        changes=dict(order.changes) or None,
        limits=None,
        config=replace(config, first_port=first_port, last_port=HIGHEST_PORT + 1),
        ports_taken=set(),
        now_ms=order.wall_ms,
    )
    record.repeatable = True
    rows = [{"seq": seq, "at_ms": order.wall_ms, **row} for seq, row in enumerate(_journal(order))]
    rows[-1]["at_ms"] = order.until_ms
    until = order.until or config.limits.branch_events - 1
    return Run(Origin(values_of(record), config, order.memory_bytes), [], rows, until=until)


def _journal(order: RunOrder) -> list[Row]:
    """Return the rows of a journal that has only the events from outside."""
    rows: list[Row] = [{"type": "SandboxOpened"}, _woken(order.wall_ms)]
    for came in order.came:
        at = {CAME: [came.turn, came.ms]}
        if came.fields is None:
            rows.append({"type": "SandboxSlept", "reason": came.name, **at})
            if came.wall_ms:
                rows += [{"type": "SandboxWoken", "slept_ms": came.slept_ms}, _woken(came.wall_ms)]
        elif came.name is None:
            rows.append({"type": "LimitReached", "cause": None, **came.fields, **at})
        else:
            rows.append({"type": "ActionTaken", "action": came.name, "fields": came.fields, "by": came.by, **at})
    return [*rows, {"type": "Keyframe"}]


def _woken(wall_ms: int) -> Row:
    return {"type": "ClockChanged", "reason": "wake", "wall_ms": wall_ms}
