"""Recipes as the text of a link: compact JSON, deflated, in the letters of an address (docs/sharing.md).

Times and turns are differences from the previous one.  A list has the outside events of the run.  These are: an
action with its fields; a limit that refused one (null and its fields); sleep (a reason and the time of waking, 0 if
it was not woken; if the time asleep is known, a list of both).
"""

import base64
import binascii
import re
import zlib
from typing import Any

from sandbox.control.actions import parse_action
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.control.limits import HostLimits
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused

VERSION = 1
ALPHABET = re.compile(r"[A-Za-z0-9_-]+")
RAW_DEFLATE = -15
LIMIT_FIELDS = {"limit": str, "value": int, "allowed": int, "who": str}
WORD_CHARS = 200
LATEST_MS = 4_102_444_800_000  # 2100-01-01: of a machine's clock
MOST_TURNS = 10**10
MOST_EVENTS = 10**12
MOST_MEMORY_BYTES = 2**50
MOST_COUNTED = 2**40  # of what a limit counts
HIGHEST_PORT = 65_535


def pack(order: RunOrder, limits: HostLimits) -> str:
    """Return the text of a run.  Raises ActionRefused (422) if the run is too long for a link."""
    came: list[list[Any]] = []
    turn = ms = 0
    for event in order.came:
        asleep = event.fields is None
        came.append(
            [
                event.turn - turn,
                event.ms - ms,
                event.name,
                event.fields if event.fields is not None else _waking(event, order.wall_ms),
            ]
        )
        turn, ms = (0, 0) if asleep else (event.turn, event.ms)
    packer = zlib.compressobj(9, wbits=RAW_DEFLATE)
    data = json_bytes.dumps(
        [
            VERSION,
            order.template,
            order.preset,
            order.seed,
            order.wall_ms,
            order.memory_bytes,
            order.first_port,
            order.conditions,
            order.until,
            order.until_ms - order.wall_ms,
            came,
        ]
    )
    text = base64.urlsafe_b64encode(packer.compress(data) + packer.flush()).decode().rstrip("=")
    if len(text) > limits.recipe_chars or len(came) > limits.branch_changes:
        raise ActionRefused(
            422,
            "The run up to this event has too many actions for one link.",
            "Choose an earlier event, or share a range as a recording.",
        )
    return text


def _waking(came: Came, begin_ms: int) -> int | list[int]:
    woken_ms = max(0, came.wall_ms - begin_ms)
    return woken_ms if came.slept_ms is None else [woken_ms, came.slept_ms]


def unpack(text: str, limits: HostLimits) -> RunOrder:
    """Return the run of a link's text.  Raises ActionRefused (422) if the text is invalid or exceeds a limit."""
    try:
        return _order(_loaded(text, limits), limits)
    except (TypeError, ValueError, KeyError, IndexError, OverflowError) as error:
        raise ActionRefused(
            422, "This is not a reproducible link.", "Copy the complete link, including its last letter."
        ) from error


def _loaded(text: str, limits: HostLimits) -> Any:
    if len(text) > limits.recipe_chars or not ALPHABET.fullmatch(text):
        raise ValueError("not the text of a recipe")
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpacker = zlib.decompressobj(wbits=RAW_DEFLATE)
        data = unpacker.decompress(packed, limits.recipe_bytes)
    except (binascii.Error, zlib.error) as error:
        raise ValueError("damaged") from error
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("damaged, or longer than any recipe")
    return json_bytes.loads(data)


def _order(document: Any, limits: HostLimits) -> RunOrder:
    version, template, preset, seed, wall_ms, memory_bytes, first_port, conditions, until, lasts_ms, came = document
    if version != VERSION:
        raise ActionRefused(422, "This reproducible link is from another release of QueueViz.", "Request a new link.")
    if _int("lasts_ms", lasts_ms, LATEST_MS) > limits.recipe_link_s * 1000:
        raise ActionRefused(
            422,
            "A reproducible link covers at most {most} s of the sandbox.",
            "End the reproducible link at an earlier event.",
            most=limits.recipe_link_s,
        )
    if len(came) > limits.branch_changes:
        raise ValueError("more than any recipe has")
    begin_ms = _int("wall_ms", wall_ms, LATEST_MS)
    return RunOrder(
        template=_word(template),
        preset=_word(preset),
        seed=_word(seed),
        wall_ms=begin_ms,
        memory_bytes=_int("memory_bytes", memory_bytes, MOST_MEMORY_BYTES),
        first_port=_int("first_port", first_port, HIGHEST_PORT),
        conditions=_word(conditions),
        came=tuple(_came(came, begin_ms, limits)),
        until=_int("until", until, MOST_EVENTS),
        until_ms=begin_ms + lasts_ms,
    )


def _came(rows: Any, begin_ms: int, limits: HostLimits) -> list[Came]:
    came: list[Came] = []
    turn = ms = 0
    for turns, later_ms, name, fields in rows:
        turn, ms = turn + _int("turns", turns, MOST_TURNS), ms + _int("later_ms", later_ms, LATEST_MS)
        if ms > limits.recipe_link_s * 1000:
            raise ValueError("later than any recipe lasts")
        if isinstance(fields, int | list):
            later, slept = fields if isinstance(fields, list) else (fields, None)
            woken_ms = begin_ms + _int("woken_ms", later, LATEST_MS - begin_ms) if later else 0
            slept_ms = None if slept is None else _int("slept_ms", slept, LATEST_MS)
            came.append(Came(turn, ms, _word(name), None, woken_ms, slept_ms))
            turn = ms = 0
        elif name is None:
            came.append(Came(turn, ms, None, _limit(fields)))
        else:
            parse_action({**fields, "action": name})
            came.append(Came(turn, ms, _word(name), fields))
    return came


def _limit(fields: Any) -> dict[str, object]:
    if {name: type(value) for name, value in fields.items()} != LIMIT_FIELDS:
        raise ValueError("not a limit that refused something")
    return {
        "limit": _word(fields["limit"]),
        "value": _int("value", fields["value"], MOST_COUNTED),
        "allowed": _int("allowed", fields["allowed"], MOST_COUNTED),
        "who": _word(fields["who"]),
    }


def _int(name: str, value: Any, most: int) -> int:
    """Return a number from 0 to `most`.  Raises ActionRefused (422) outside, ValueError if it is no whole number."""
    if type(value) is not int:
        raise ValueError("not a number of a recipe")
    if not 0 <= value <= most:
        raise ActionRefused(
            422,
            "In this reproducible link {name} is {value}, outside 0 to {most}.",
            "Request a new link.",
            name=name,
            value=value,
            most=most,
        )
    return value


def _word(value: Any) -> str:
    if type(value) is not str or not 0 < len(value) <= WORD_CHARS:
        raise ValueError("not a word of a recipe")
    return value
