"""Columns of the sources that are computed from stored ones: the store time as an instant, properties as headers.

Jobs and sealed files have the stored columns only (`records.SCHEMA`).  A reader computes these two if they are asked
for; `headers` is a column by default only with the option includeHeaders.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sandbox.pipeline.sources.cluster_access import truth_of

TIMESTAMP = "timestamp"
HEADERS = "headers"
INCLUDE_HEADERS = "includeHeaders"
INSTANT = pa.timestamp("us", tz="UTC")
HEADER_LIST = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
YEAR_1_MS, YEAR_10000_MS = -62_135_596_800_000, 253_402_300_800_000


def with_timestamp(schema: pa.Schema, after: str) -> pa.Schema:
    """Return the schema with the column `timestamp` after this column of milliseconds."""
    return schema.insert(schema.get_field_index(after) + 1, pa.field(TIMESTAMP, INSTANT))


def instants(at_ms: NDArray[np.int64]) -> pa.Array:
    """Return times in ms as instants; null outside of the years 1 to 9999, which Python cannot show."""
    outside = (at_ms < YEAR_1_MS) | (at_ms >= YEAR_10000_MS)
    if not outside.any():
        return pa.array(at_ms * 1_000).cast(INSTANT)
    return pa.array(np.where(outside, 0, at_ms) * 1_000, mask=outside).cast(INSTANT)


def headers_of(properties: pa.MapArray) -> pa.Array:
    """Return the pairs of a map as a list of headers, their values as bytes."""
    pairs = pa.StructArray.from_arrays(
        [properties.keys, properties.items.cast(pa.binary())], fields=list(HEADER_LIST.value_type)
    )
    return pa.ListArray.from_arrays(properties.offsets, pairs, type=HEADER_LIST)


def includes_headers(options: Mapping[str, str]) -> bool:
    """Return the option includeHeaders, by default False.  Raises ValueError."""
    return truth_of(INCLUDE_HEADERS, options.get(INCLUDE_HEADERS, "false"))


def with_headers(named: Sequence[str], known: pa.Schema, options: Mapping[str, str]) -> list[str]:
    """Return these columns, or the default ones without any; the option includeHeaders adds `headers`.

    Raises ValueError.
    """
    columns = list(named) or [name for name in known.names if name != HEADERS]
    return columns + [HEADERS] * (includes_headers(options) and HEADERS not in columns)
