"""Small tables of a broker on disk: `config/*.json`, each with its earlier state as `.bak`."""

import json
import logging
from typing import Any

import orjson

from sandbox.kernel import loose_json
from sandbox.store.disk import Disk

log = logging.getLogger(__name__)

DIRECTORY = "config"
DEEPEST = 12  # nested lists and maps; no table has so many levels


def in_apaches_shape(table: Any) -> bytes:
    """Sorted, with tabs and without blanks.  (The standard library takes ten times as long.)"""
    data = orjson.dumps(table, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    depth = 1
    while b"\n" + b"  " * depth in data:  # tables have three or four levels: each level is one pass over all of it
        depth += 1
    if b'\\"' in data or depth > DEEPEST:
        text = json.dumps(table, indent="\t", separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        return text.encode() + b"\n"
    for deep in range(depth - 1, 0, -1):
        data = data.replace(b"\n" + b"  " * deep, b"\n" + b"\t" * deep)
    return data.replace(b'": ', b'":')


class JsonFile:
    """One table.  RocketMQ: `ConfigManager` (spec store-format 10).

    Reads fastjson's output; writes valid JSON, which fastjson reads too.  A reader finds the old or the new state at
    any time: the old one is copied first.
    """

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self.path = f"{DIRECTORY}/{name}.json"

    def read(self) -> Any | None:
        """The table; that of the backup when the file is missing or damaged; None when neither can be read."""
        for path in (self.path, f"{self.path}.bak"):
            data = self._disk.read(path)
            if not data or not data.strip():
                continue
            try:
                return loose_json.loads(data)
            except ValueError as why:
                log.warning("cannot read %s: %s", path, why)
        return None

    def write(self, table: Any) -> bool:
        """Replace the table; False when it is the same text as before.  Raises StoreFull."""
        data = in_apaches_shape(table)
        before = self._disk.read(self.path)
        if before == data:
            return False
        self._disk.write(f"{self.path}.tmp", data)
        if before is not None:
            self._disk.write(f"{self.path}.bak", before)
        self._disk.rename(f"{self.path}.tmp", self.path)
        return True
