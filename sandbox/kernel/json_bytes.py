"""JSON as bytes, with the interface of orjson: the only module of the engine that names a JSON library.

CPython has orjson.  An interpreter in a browser has no build of it; there `json_msgspec` gives the same bytes and the
same values.  A run in a browser and the same run on a server therefore write the same journal.
"""

try:
    from orjson import (
        OPT_APPEND_NEWLINE,
        OPT_INDENT_2,
        OPT_NON_STR_KEYS,
        OPT_SORT_KEYS,
        JSONDecodeError,
        JSONEncodeError,
        dumps,
        loads,
    )
except ModuleNotFoundError:
    from sandbox.kernel.json_msgspec import (  # type: ignore[assignment, attr-defined]  # the same names
        OPT_APPEND_NEWLINE,
        OPT_INDENT_2,
        OPT_NON_STR_KEYS,
        OPT_SORT_KEYS,
        JSONDecodeError,
        JSONEncodeError,
        dumps,
        loads,
    )

__all__ = [
    "OPT_APPEND_NEWLINE",
    "OPT_INDENT_2",
    "OPT_NON_STR_KEYS",
    "OPT_SORT_KEYS",
    "JSONDecodeError",
    "JSONEncodeError",
    "dumps",
    "loads",
]
