"""Parts of a recording: each is one JSON value, compressed by gzip."""

import zlib
from typing import Any

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import BadRecording

GZIP = 31  # zlib's window bits for gzip, without a time in its header
BEST = 9


def pack_part(value: Any) -> bytes:
    """Return the packed value.  Equal values have equal bytes (with the same zlib)."""
    packer = zlib.compressobj(BEST, zlib.DEFLATED, GZIP, 9)
    return packer.compress(json_bytes.dumps(value, option=json_bytes.OPT_SORT_KEYS)) + packer.flush()


def unpack_part(data: bytes, name: str, most_bytes: int) -> Any:
    """Return the unpacked value.  Raises BadRecording if it is damaged or longer than `most_bytes`."""
    unpacker = zlib.decompressobj(GZIP)
    try:
        text = unpacker.decompress(data, most_bytes + 1)
    except zlib.error as error:
        raise BadRecording(f"The {name} cannot be unpacked ({error}). Copy it again.") from error
    if len(text) > most_bytes:
        raise BadRecording(
            f"The {name} is longer than {most_bytes} bytes (limit unpacked_bytes). Export a shorter range."
        )
    if not unpacker.eof or unpacker.unused_data:
        raise BadRecording(f"The {name} is incomplete or has data after its end. Copy it again.")
    try:
        return json_bytes.loads(text)
    except json_bytes.JSONDecodeError as error:
        raise BadRecording(f"The {name} is not JSON. Export it again.") from error


def map_of(value: Any, keys: set[str], name: str) -> dict[str, Any]:
    """Return the value as a map with exactly these keys.  Raises BadRecording if it is none."""
    if not isinstance(value, dict) or value.keys() != keys:
        raise BadRecording(f"The {name} does not have the fields {', '.join(sorted(keys))}. Export it again.")
    return value
