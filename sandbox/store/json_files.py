"""Small tables of a broker on disk: `config/*.json`, each with its previous state as `.bak`."""

import json
import logging
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import TablesDamaged
from sandbox.store.disk import Disk
from sandbox.store.table_files import BACKUP, path_of, value_in

log = logging.getLogger(__name__)

ASIDE = ".damaged"  # and a number from the second on: files whose loss was accepted
DEEPEST = 12  # nested lists and maps; no table has so many levels

WHYS = {
    "missing": "is missing",
    "empty": "is empty",
    "nul_bytes": "holds only NUL bytes",
    "not_json": "is not JSON",
    "not_a_table": "is JSON, but not the expected table",
    "not_readable": "cannot be opened or read",
}
"""Faults of a file, as the end of a sentence about it."""
NOTHING = frozenset({"missing", "empty"})
"""Not damaged: nothing was stored, as far as RocketMQ distinguishes."""


def in_apaches_shape(table: Any) -> bytes:
    """Return the table as JSON in Apache's form: sorted, with tabs and without blanks.

    The standard library takes ten times as long.
    """
    data = json_bytes.dumps(
        table, option=json_bytes.OPT_INDENT_2 | json_bytes.OPT_SORT_KEYS | json_bytes.OPT_APPEND_NEWLINE
    )
    depth = 1
    while b"\n" + b"  " * depth in data:  # tables have three or four levels: each level is one pass over all of it
        depth += 1
    if b'\\"' in data or depth > DEEPEST:
        text = json.dumps(table, indent="\t", separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        return text.encode() + b"\n"
    for deep in range(depth - 1, 0, -1):
        data = data.replace(b"\n" + b"  " * deep, b"\n" + b"\t" * deep)
    return data.replace(b'": ', b'":')


class Unread(NamedTuple):
    """A file without a readable table.  `why`: one of WHYS."""

    path: str  # below the store
    why: str


class TableRead(NamedTuple):
    """The outcome of reading a table.

    `source`: file, backup, nothing (neither file has content), lost (the file is damaged, and there is no backup) or
    damaged (neither can be read).  `unread`: the file and its backup, as far as they were tried and have no table.
    """

    name: str
    source: str
    unread: tuple[Unread, ...]

    @property
    def first(self) -> Unread:
        """The first damaged file, else the first without content.  It exists unless `source` is file."""
        return next((file for file in self.unread if file.why not in NOTHING), self.unread[0])

    @property
    def from_outside(self) -> bool:
        """True if a file is damaged: no broker of QueueViz leaves it so, not even after a power cut."""
        return any(file.why not in NOTHING for file in self.unread)

    def __str__(self) -> str:
        return ", ".join(f"{file.path} {WHYS[file.why]}" for file in self.unread)


class JsonFile:
    """One table and its backup.  RocketMQ: `ConfigManager` (spec store-format 10).

    Reads fastjson's output; writes valid JSON, which fastjson reads too.  The previous state is copied before a
    write, so a reader finds the old or the new state at any time.
    """

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self.name = name
        self.path = path_of(name)

    def load(self, take: Callable[[Any], None]) -> TableRead:
        """Call `take` with the table of the file, or of the backup if the file has none or `take` refuses it.

        `take` raises ValueError, TypeError, KeyError or AttributeError for anything but such a table, and then must
        have changed nothing.  It is not called if nothing is stored.  As `ConfigManager.load` in RocketMQ 4.9.8: a
        missing or empty file is no fault, and a damaged one without a backup counts as an empty table.  The broker
        refuses to start only if the backup is damaged.  A file of blanks is an empty table, without the backup.
        """
        unread: list[Unread] = []
        for path, source in ((self.path, "file"), (f"{self.path}{BACKUP}", "backup")):
            reason = self._taken(path, take)
            if reason is None:
                return TableRead(self.name, source, tuple(unread))
            unread.append(Unread(path, reason))
        damaged = [file.why not in NOTHING for file in unread]
        source = "damaged" if damaged[1] else "lost" if damaged[0] else "nothing"
        return TableRead(self.name, source, tuple(unread))

    def read(self) -> Any | None:
        """Return the table, or that of the backup if the file has none; None if nothing is stored.

        Raises TablesDamaged if the stored table cannot be read.
        """
        content: list[Any] = []
        read = self.load(content.append)
        if read.source in ("damaged", "lost"):
            raise TablesDamaged((read,))
        return content[0] if content else None

    def put_aside(self) -> tuple[str, ...]:
        """Rename the file and its backup, so that the table is empty; return their new paths.  Nothing is deleted."""
        kept = []
        for path in (self.path, f"{self.path}{BACKUP}"):
            if self._disk.is_file(path):
                kept.append(self._free_name(path))
                self._disk.rename(path, kept[-1])
        return tuple(kept)

    def write(self, table: Any) -> bool:
        """Replace the table; return False if its text is unchanged.  Raises StoreFull."""
        data = in_apaches_shape(table)
        before = self._disk.read(self.path)
        if before == data:
            return False
        self._disk.write(f"{self.path}.tmp", data)
        if before is not None:
            self._disk.write(f"{self.path}{BACKUP}", before)
        self._disk.rename(f"{self.path}.tmp", self.path)
        return True

    def _taken(self, path: str, take: Callable[[Any], None]) -> str | None:
        """Give the table in one file to `take`; return None, or one of WHYS if the file has no such table."""
        try:
            data = self._disk.read(path)
        except OSError as error:
            log.warning("cannot read %s: %s", path, error)
            return "not_readable"
        if data is None:
            return "missing"
        if not data:
            return "empty"
        try:
            content = value_in(data)
        except ValueError as error:
            log.warning("cannot read %s: %s", path, error)
            return "not_json" if data.strip(b"\0") else "nul_bytes"
        try:
            if content not in (None, []):
                take(content)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("no %s table in %s: %r", self.name, path, error)
            return "not_a_table"
        return None

    def _free_name(self, path: str) -> str:
        names = (f"{path}{ASIDE}{number or ''}" for number in count())
        return next(name for name in names if self._disk.size_of(name) is None)
