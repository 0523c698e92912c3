"""Histories: recorded minutes with which new sandboxes start, made once per template (`simulation.history`).

`<data home>/histories/` has a directory for each template and preset.  Its name depends on all that the run depends
on, so a history of another release or of other settings is never used.  In it, `run` is the directory of a sandbox
that sleeps, and `files.json` has the checksums of its files, written last.  A sandbox starts with a copy of `run`
and continues: its run is the history's from the seed on, and can be executed again like that of any sandbox that has
slept.
"""

import logging
import shutil
import tempfile
import time
from functools import cache
from hashlib import sha256
from pathlib import Path

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.new_sandbox import with_own_addresses
from sandbox.cluster.origin import conditions_of
from sandbox.cluster.record import SandboxRecord
from sandbox.cluster.templates import template_of
from sandbox.control.actions import StartProducer
from sandbox.hosting.sparse_files import copy_directory, sums_of
from sandbox.kernel import json_bytes
from sandbox.kernel.engine_version import ENGINE

log = logging.getLogger(__name__)

DIRECTORY = "histories"
RUN = "run"
FILES = "files.json"
SLUG = "history"  # of the sandbox whose run it is: keyframes have it
FORMAT = 1
COPYING, MAKING = ".copy-", ".making-"  # prefixes of what is not complete
VERSION_CHARS = 12
COPYING_S = 3_600  # an incomplete copy that is older belongs to no process any more


class Histories:
    """Prepared histories of one data home.  All methods block; several processes may use it at once."""

    def __init__(self, home: Path, config: HostConfig) -> None:
        self.root = home / DIRECTORY
        self._config = config

    def place(self, template: str, preset: str) -> Path:
        return self.root / f"{template}-{preset}-{self._version()}"

    def is_wanted(self, template: str, preset: str) -> bool:
        """Return True if a history of this template and preset is still to be made."""
        return has_history(template, self._config) and not (self.place(template, preset) / FILES).exists()

    def copy(self, template: str, preset: str) -> Path | None:
        """Return a copy from which `begin` creates a sandbox.

        None if there is no complete history, or no disk space.  A damaged history is removed, so that it is made again.
        """
        if not has_history(template, self._config):
            return None
        directory = self.place(template, preset)
        draft: Path | None = None
        try:
            expected = json_bytes.loads((directory / FILES).read_bytes())
            draft = Path(tempfile.mkdtemp(prefix=COPYING, dir=self.root))
            if copy_directory(directory / RUN, draft / RUN) == expected:
                return draft / RUN
            reason, is_damaged = "its files are not those that were made", True
        except (OSError, json_bytes.JSONDecodeError) as failure:
            if draft is None and isinstance(failure, FileNotFoundError):
                return None  # not made yet
            reason, is_damaged = str(failure), isinstance(failure, FileNotFoundError | json_bytes.JSONDecodeError)
        log.warning("%s cannot be copied: %s", directory.name, reason)
        for path in [draft, directory if is_damaged else None]:
            if path is not None:
                shutil.rmtree(path, ignore_errors=True)
        return None

    def begin(self, copied: Path, directory: Path, ports_taken: set[int]) -> SandboxRecord:
        """Create the sandbox of `directory` from a copied history, completely or not at all; return its record.

        Raises OSError, and ActionRefused (503) if too few ports are free.
        """
        record = records.load(copied)
        record.branch_of = {"run": record.slug}
        record.slug = directory.name
        record.nodes = with_own_addresses(record.nodes, self._config, ports_taken)
        records.save(copied, record)
        copied.rename(directory)
        return record

    def keep(self, draft: Path, template: str, preset: str) -> None:
        """Add the history made in `draft`, a directory of `root`.  Raises OSError."""
        directory = self.place(template, preset)
        records.replace_file(draft / FILES, json_bytes.dumps(sums_of(draft / RUN)))
        shutil.rmtree(directory, ignore_errors=True)
        draft.rename(directory)

    def forget_stale(self) -> None:
        """Remove histories of other releases or settings, and incomplete ones that a process has left."""
        if not self.root.is_dir():
            return
        since_s = time.time() - COPYING_S
        for path in sorted(path for path in self.root.iterdir() if path.is_dir()):
            if path.name.startswith(COPYING):
                is_stale = path.stat().st_mtime < since_s
            else:
                is_stale = not (path.name.startswith(MAKING) or path.name.endswith(f"-{self._version()}"))
            if is_stale:
                shutil.rmtree(path, ignore_errors=True)

    def _version(self) -> str:
        config = self._config
        made_of = [FORMAT, ENGINE, code_digest(), config.history_s, conditions_of(config, config.node_host)]
        return sha256(json_bytes.dumps(made_of)).hexdigest()[:VERSION_CHARS]


def has_history(template: str, config: HostConfig) -> bool:
    """Return True if new sandboxes of this template start with a recorded history.

    Templates without producers have none, nor has any template if `history_s` is 0.  Raises ActionRefused (422) if
    the template is unknown.
    """
    return config.history_s > 0 and any(isinstance(action, StartProducer) for action in template_of(template).setup)


@cache
def code_digest() -> str:
    """Return a digest of the engine's sources: each of them may change a run."""
    root = Path(__file__).parents[1]
    digest = sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
