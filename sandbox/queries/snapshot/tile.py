"""A sandbox in a course's grid (channel `tile/<slug>`): the progress of its lab, and the strips of the lab's group."""

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.lab_progress import LabProgress
from sandbox.cluster.teacher_hold import TeacherHold
from sandbox.control.rights import is_by
from sandbox.journal.events import (
    ActionTaken,
    BrokerStarted,
    BrokerStopped,
    MemberStateChanged,
    NameServerStarted,
    NameServerStopped,
    PredictionGiven,
)
from sandbox.labs.attempt import Attempt
from sandbox.queries.rows.board import QueueRow
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.rows.lag import row_lag
from sandbox.queries.rows.tile import Tile
from sandbox.queries.snapshot.board import queue_rows
from sandbox.queries.snapshot.lab import effect_row
from sandbox.queries.snapshot.members import member_rows

MOST_STRIPS = 16
UNKNOWN = "-"
SETTLED = {"starting": "running", "stopping": "stopped"}  # a transition counts as its target


def read_tile(cluster: Cluster) -> Tile:
    progress = cluster.companion(LabProgress)
    progress.catch_up()
    attempt = progress.attempt
    if attempt is None:
        lab, step, steps, phase, sealed, failed, acted_ms = None, 0, 0, "done", False, 0, None
    else:
        lab, step, steps, phase = attempt.lab.number, attempt.step, len(attempt.lab.steps), attempt.phase
        sealed, failed, acted_ms = attempt.can_be_touched, _failed(attempt), _acted_ms(attempt)
    held = cluster.companion(TeacherHold)
    return {
        "tile": {
            "lab": lab,
            "step": min(step, steps),
            "steps": steps,
            "phase": phase,
            "sealed": sealed,
            "failed": failed,
            "acted_ms": acted_ms,
            "at_ms": cluster.clock.now_ms(),
            "rate": cluster.clock.rate,
            "frozen": held.is_frozen,
            "acts": held.acts,
            "effect": effect_row(held, cluster.environment.outside.now_ms()),
            "lives": _lives(cluster, attempt),
            "group": _number(attempt, "group"),
            "topic": _number(attempt, "topic"),
            "strips": _strips(cluster, attempt),
        }
    }


def _lives(cluster: Cluster, attempt: Attempt | None) -> dict[str, list[str]]:
    """Return the state of every node whose state changed in the attempt, and the seq of the event.

    Nodes are members by label, brokers and name servers.
    """
    if attempt is None:
        return {}
    evidence = attempt.evidence
    labels = {actor.client_id: actor.label for actor in sorted(cluster.actors.consumers(), key=lambda a: not a.is_copy)}
    changes = [
        (entry.seq, labels[entry.event.client_id], SETTLED.get(entry.event.state, entry.event.state))
        for entry in evidence.of(MemberStateChanged, since=0)
        if entry.event.client_id in labels
    ]
    changes += [(entry.seq, entry.event.broker, "running") for entry in evidence.of(BrokerStarted, since=0)]
    changes += [(entry.seq, entry.event.broker, "stopped") for entry in evidence.of(BrokerStopped, since=0)]
    changes += [(entry.seq, entry.event.name_server, "running") for entry in evidence.of(NameServerStarted, since=0)]
    changes += [(entry.seq, entry.event.name_server, "stopped") for entry in evidence.of(NameServerStopped, since=0)]
    states: dict[str, list[str]] = {}
    for seq, name, state in sorted(changes):
        if name not in states or states[name][0] != state:
            states[name] = [state, str(seq)]
    return states


def _failed(attempt: Attempt) -> int:
    """Return how often in a row the newest wrong answer to the open step was given."""
    count = 0
    for step, _, verdict in reversed(attempt.mistakes):
        if step != attempt.step or verdict.text != attempt.mistakes[-1][2].text:
            break
        count += 1
    return count


def _acted_ms(attempt: Attempt) -> int | None:
    """Return the time of the student's newest action or answer.  The teacher's actions do not count."""
    evidence = attempt.evidence
    times = [entry.at_ms for entry in evidence.of(ActionTaken, since=0) if not is_by(entry.event.by, "instructor")]
    times += [entry.at_ms for entry in evidence.of(PredictionGiven, since=0)]
    return max(times, default=None)


def _strips(cluster: Cluster, attempt: Attempt | None) -> list[str]:
    group, topic = _number(attempt, "group"), _number(attempt, "topic")
    if group is None or topic is None:
        return []
    view = GroupView(cluster, group)
    if not view.exists:
        return []
    colours = {client_id: row["colour"] for client_id, row in member_rows(cluster, view, topic).items()}
    rows = queue_rows(cluster, view, topic)
    return [_strip(rows[key], colours) for key in sorted(rows)[:MOST_STRIPS]]


def _number(attempt: Attempt | None, name: str) -> str | None:
    """Return a number of the lab, as drawn for this student; None if the lab has no such number."""
    return None if attempt is None else attempt.evidence.numbers.get(name)


def _strip(row: QueueRow, colours: dict[str, int]) -> str:
    """Return a queue's strip.

    If the queue's master is down, the lag is unknown: a tile has no space for the time of the last report.
    """
    lag = row_lag(row) if row["down"] is None else None
    owner = row["owner"]
    colour = str(colours[owner]) if owner in colours else UNKNOWN
    return f"{UNKNOWN if lag is None else lag}/{row['cells'] or UNKNOWN}/{colour}"
