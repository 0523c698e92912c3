"""One queue of one group on an attached cluster: where every counter stands, as far as anybody tells."""

from typing import Any

from sandbox.hosting.attached.member_says import NOWHERE, HeldQueue, position
from sandbox.hosting.attached.picture import Picture
from sandbox.hosting.attached.snapshot.group_seen import GroupSeen, Rows
from sandbox.message.queue import MessageQueue

Row = dict[str, Any]

BROKER_LIFE_MS, CLIENT_LIFE_MS, RENEW_MS = 60_000, 30_000, 20_000
"""RocketMQ's defaults.  Brokers and clients may be told others, and nobody can ask them."""

Causes = dict[tuple[str, MessageQueue], int]

_NEVER_TOLD: Row = {"oldest_stored_ms": None, "cells": None, "oldest": None, "flow_control": None, "next_pull": None,
                    "held_until_ms": None}


def queue_rows(seen: GroupSeen, topic: str, causes: Causes, *, divided: bool = True) -> Rows:
    """By `broker-a:3`; broadcasting: by `broker-a:3@<client id>`, of members that tell.

    `divided` False: `assigned` is left None, because nobody reads it.
    """
    mqs = seen.picture.read_queues(topic)
    if seen.model == "BROADCASTING":
        return {f"{mq.row}@{client_id}": _broadcast_row(seen.picture, mq, client_id, held)
                for client_id, says in seen.says.items() for mq, held in sorted(says.held(topic).items())}
    assigned = seen.assigned(mqs) if divided else {}
    return {mq.row: _queue_row(seen, mq, assigned.get(mq), causes.get((seen.group, mq))) for mq in mqs}


def _queue_row(seen: GroupSeen, mq: MessageQueue, assigned: str | None, cause: int | None) -> Row:
    owner, held = seen.holder(mq)
    committed = seen.picture.committed(seen.group, mq)
    return {**ends_row(seen.picture, mq), "committed": text(committed), **_NEVER_TOLD,
            **(NOWHERE if held is None else position(held, committed)), "owner": owner, "assigned": assigned,
            "lock": lock_row(owner, held), "cause": text(cause)}


def _broadcast_row(picture: Picture, mq: MessageQueue, client_id: str, held: HeldQueue) -> Row:
    told = position(held, None)
    return {**ends_row(picture, mq), "committed": told["in_memory"], **_NEVER_TOLD, **told, "owner": client_id,
            "assigned": client_id, "lock": None, "cause": None}


def ends_row(picture: Picture, mq: MessageQueue) -> Row:
    end = picture.end(mq)
    return {"min": None if end is None else str(max(0, end.min_offset)),
            "max": None if end is None else str(max(0, end.max_offset)), "rate_per_s": picture.rates.per_s(mq)}


def lock_row(owner: str | None, held: HeldQueue | None) -> Row | None:
    """As its holder tells it, by the holder's clock; how long it lives is assumed.  Brokers do not show their locks."""
    if owner is None or held is None or not held.locked:
        return None
    at_ms = held.last_lock_ms
    return {"holder": owner, "granted_at_ms": None, "expires_at_ms": at_ms + BROKER_LIFE_MS,
            "trusted_until_ms": at_ms + CLIENT_LIFE_MS, "renew_at_ms": at_ms + RENEW_MS, "known_by": "holder"}


def lag_of(rows: Rows) -> str | None:
    """Messages stored and not committed.  None while one of the queues is not known."""
    if not rows or any(row["max"] is None for row in rows.values()):
        return None
    return str(sum(max(0, int(row["max"]) - int(row["committed"] if row["committed"] is not None else row["min"]))
                   for row in rows.values()))


def text(number: int | None) -> str | None:
    return None if number is None else str(number)
