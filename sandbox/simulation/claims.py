"""Claims about a run that are tested with many seeds: the actions to add, and the contradictions to look for."""

from collections.abc import Callable
from typing import NamedTuple

from sandbox.journal.schema import Row
from sandbox.kernel.chance import Chance
from sandbox.queries.rows.snapshot import Snapshot
from sandbox.simulation.recipe import Act

FIRST_MS, LAST_MS = 15_000, 45_000  # when something is done to a member
AFTER_MS = 90_000  # locks of a crashed member expire after 60 s, the next one asks every 20 s

AGAIN = "{place}: {before} finished the message, {after} received it again"
TWO = "{queue}: {after} started processing while {before} was processing"
LATER = "{place} of {key} was finished after {offset}"

Place = tuple[str, str, str, int, int]  # group, topic, broker, queue, offset


class Case(NamedTuple):
    """A contradiction of a claim: a sentence with its values."""

    pattern: str
    values: dict[str, str]

    def __str__(self) -> str:
        return self.pattern.format(**self.values)


class Found(NamedTuple):
    """The result of one run.  `looked_at`: the number of cases that could have contradicted the claim."""

    looked_at: int
    cases: list[Case]


class Claim(NamedTuple):
    """A claim about a run.

    `draw`: returns the actions on members for a seed.  `against`: returns the contradictions in a run.
    """

    name: str
    draw: Callable[[Chance, list[str]], list[Act]]
    against: Callable[[list[Row], Snapshot], Found]


def _one(action: str) -> Callable[[Chance, list[str]], list[Act]]:
    return lambda chance, members: [Act(_moment(chance), action, {"actor": chance.choice(members)})]


def _several(chance: Chance, members: list[str]) -> list[Act]:
    """Draw crashes, stops or hangs of members, each followed by a restart or resume."""
    acts: list[Act] = []
    for _ in range(2 + chance.below(2)):
        member, at_ms = chance.choice(members), _moment(chance)
        end, start = chance.choice(
            (("CrashActor", "RestartActor"), ("StopActor", "RestartActor"), ("HangActor", "ResumeActor"))
        )
        acts += [
            Act(at_ms, end, {"actor": member}),
            Act(at_ms + 5_000 + chance.below(30_000), start, {"actor": member}),
        ]
    return sorted(acts, key=lambda act: act.at_ms)


def _moment(chance: Chance) -> int:
    return FIRST_MS + chance.below(LAST_MS - FIRST_MS)


def came_again(ended: str) -> Callable[[list[Row], Snapshot], Found]:
    """Return the test for messages that a member had finished, and that another process got later.

    Only members count that ended in the state `ended`.
    """

    def against(rows: list[Row], last: Snapshot) -> Found:
        shared = _clustering(last)
        gone = {row["client_id"] for row in rows if row["type"] == "MemberStateChanged" and row["state"] == ended}
        finished: dict[Place, str] = {}
        cases: list[Case] = []
        for row in rows:
            if row["type"] != "MessagesConsumed" or row["group"] not in shared:
                continue
            for position in _places(row):
                before = finished.get(position)
                if before is not None and before in gone and before != row["client_id"]:
                    cases.append(Case(AGAIN, {"place": _called(position), "before": before, "after": row["client_id"]}))
                    del finished[position]
                elif row["outcome"] == "SUCCESS":
                    finished.setdefault(position, row["client_id"])
        return Found(sum(client_id in gone for client_id in finished.values()) + len(cases), cases)

    return against


def several_owners(rows: list[Row], last: Snapshot) -> Found:
    """Return the cases of two processes that worked on messages of one queue at the same time."""
    shared = _clustering(last)
    busy: dict[tuple[str, str, str, int], list[tuple[int, int, str]]] = {}
    for row in rows:
        if row["type"] == "MessagesConsumed" and row["group"] in shared:
            queue = (row["group"], row["topic"], row["broker"], row["queue_id"])
            busy.setdefault(queue, []).append((row["started_ms"], row["at_ms"], row["client_id"]))
    cases: list[Case] = []
    for (_, topic, broker, queue_id), spans in busy.items():
        ends_ms, owner = 0, ""
        for began_ms, ended_ms, client_id in sorted(spans):
            if client_id != owner and began_ms < ends_ms:
                cases.append(Case(TWO, {"queue": f"{topic}/{broker}/{queue_id}", "after": client_id, "before": owner}))
            if ended_ms >= ends_ms:
                ends_ms, owner = ended_ms, client_id
    return Found(sum(map(len, busy.values())), cases)


def out_of_order(rows: list[Row], last: Snapshot) -> Found:
    """Return the messages of one key and queue that were first finished after a later message."""
    shared = _clustering(last)
    furthest: dict[tuple[str, str, str, int, str], int] = {}
    finished: set[Place] = set()
    cases: list[Case] = []
    for row in rows:
        if row["type"] != "MessagesConsumed" or row["outcome"] != "SUCCESS" or row["group"] not in shared:
            continue
        for position, key in zip(_places(row), row["sharding"], strict=True):
            if not key or position in finished or position[1].startswith("%"):
                continue
            finished.add(position)
            way = (*position[:4], key)
            if position[4] < furthest.get(way, -1):
                cases.append(Case(LATER, {"place": _called(position), "key": key, "offset": str(furthest[way])}))
            furthest[way] = max(position[4], furthest.get(way, -1))
    return Found(len(finished), cases)


def _clustering(last: Snapshot) -> set[str]:
    return {group["group"] for group in last["groups"] if group["model"] != "BROADCASTING"}


def _places(row: Row) -> list[Place]:
    return [(row["group"], row["topic"], row["broker"], row["queue_id"], offset) for offset in row["offsets"]]


def _called(position: Place) -> str:
    _, topic, broker, queue_id, offset = position
    return f"{topic}/{broker}/{queue_id} @{offset}"


CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim("no-duplicates-after-a-clean-stop", _one("StopActor"), came_again("stopped")),
        Claim("no-duplicates-after-a-crash", _one("CrashActor"), came_again("crashed")),
        Claim("at-most-one-owner", _several, several_owners),
        Claim("order-per-key", _several, out_of_order),
    )
}


def case(claim: Claim, seed: int, members: list[str], acts: tuple[Act, ...]) -> tuple[Act, ...]:
    """Return the actions in the run of this seed: the recorded ones, and the claim's own."""
    drawn = claim.draw(Chance(f"claim {seed}"), members)
    return (*acts, *drawn)
