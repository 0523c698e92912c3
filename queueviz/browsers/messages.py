"""Messages of `queueviz.lite.1` that a browser sends, checked for shape and size.  No value of them is trusted."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from sandbox.queries.rows.labs import LabRow
from sandbox.queries.rows.tile import TileRow

MOST_CHARS = 512_000  # of one message; a frame of a large board has up to 100,000
MOST_FIELDS_CHARS = 8_192
MOST_TILE_CHARS = 8_192  # of a usual one: 500
MOST_ROW_CHARS = 65_536
MOST_HOLD_CHARS = 4_096

Whole = Annotated[int, Meta(ge=0, le=2**53)]
Number = Annotated[int, Meta(ge=1, le=2**31)]
Short = Annotated[str, Meta(max_length=120)]
Digest = Annotated[str, Meta(max_length=64)]
Hold = dict[str, object]


class Hello(Struct, tag_field="k", tag="hello", frozen=True):
    """The first message.  `instance`: the worker's own random name.

    `length`: entries that its run has, `known` of them with a receipt, the newest of which is `receipt`.  `runs`: False
    if it needs the run's beginning.
    """

    instance: Digest
    engine: Digest
    runs: bool = False
    length: Whole = 0
    known: Whole = 0
    receipt: Digest = ""


class CameMessage(Struct, tag_field="k", tag="came", frozen=True):
    """An outside event of the run, as `courses.lite_runs.Entry`."""

    n: Number
    turn: Whole
    ms: Whole
    at_ms: Whole
    name: Annotated[str, Meta(max_length=48)] | None
    fields: dict[str, object]
    by: Short


class TileMessage(Struct, tag_field="k", tag="tile", frozen=True):
    """The values of channel `tile`, once a second, and the teacher's hold (`TeacherHold`) if there is one."""

    seq: Whole
    rate: float
    epoch: Short
    tile: TileRow
    hold: Hold = {}


class LabMessage(Struct, tag_field="k", tag="lab", frozen=True):
    """The lab in progress, after each change of its steps or receipts."""

    row: LabRow


class Did(Struct, tag_field="k", tag="did", frozen=True):
    """The value of a call."""

    id: Whole
    value: msgspec.Raw


class Refused(Struct, tag_field="k", tag="refused", frozen=True):
    """The refusal of a call, as `ActionRefused` has it."""

    id: Whole
    status: Annotated[int, Meta(ge=400, le=599)]
    reason: Annotated[str, Meta(max_length=1_000)]
    hint: Annotated[str, Meta(max_length=1_000)]
    values: dict[str, str | int | float] = {}


class Say(Struct, tag_field="k", tag="say", frozen=True):
    """A text of `queueviz.live.1` for viewer `v`."""

    v: Whole
    text: str


class Shut(Struct, tag_field="k", tag="shut", frozen=True):
    """The worker has closed viewer `v`."""

    v: Whole


Received = Hello | CameMessage | TileMessage | LabMessage | Did | Refused | Say | Shut

_decode = msgspec.json.Decoder(Received).decode
_MOST = {CameMessage: MOST_FIELDS_CHARS, TileMessage: MOST_TILE_CHARS, LabMessage: MOST_ROW_CHARS}


def parse(text: str | None) -> Received | None:
    """Return the message, or None if it is none: of another shape, or too large for its kind."""
    if text is None or len(text) > MOST_CHARS:
        return None
    try:
        message: Received = _decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return message if len(text) <= _MOST.get(type(message), MOST_CHARS) else None
