"""Origin of a repeatable sandbox: `origin.json`, written once."""

from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.cluster.config import HostConfig
from sandbox.cluster.record import FILE_NAME, replace_file
from sandbox.control.limits import SandboxLimits
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import CorruptRecord

ORIGIN_NAME = "origin.json"
FORMAT = 1
DIGEST_CHARS = 12
OF_THE_RUN = ("keyframe_s", "remember_s", "journal_write_s")  # of a host's configuration


class Origin(NamedTuple):
    """Conditions at a sandbox's creation.  `record`: the first `sandbox.json`, unchanged."""

    record: dict[str, Any]
    config: HostConfig
    memory_bytes: int


def save_origin(directory: Path, config: HostConfig, memory_bytes: int) -> None:
    """Write `origin.json` after the first `sandbox.json`.  `memory_bytes`: of the machine."""
    record = json_bytes.loads((directory / FILE_NAME).read_bytes())
    write_origin(directory, Origin(record, config, memory_bytes))


def write_origin(directory: Path, origin: Origin) -> None:
    values = {
        "format": FORMAT,
        "memory_bytes": origin.memory_bytes,
        "config": {name: getattr(origin.config, name) for name in OF_THE_RUN},
        "limits": asdict(origin.config.sandbox_limits),
        "record": origin.record,
    }
    replace_file(directory / ORIGIN_NAME, json_bytes.dumps(values, option=json_bytes.OPT_INDENT_2))


def load_origin(directory: Path) -> Origin:
    """Return the origin stored in `directory`.

    Raises CorruptRecord if it cannot be read, FileNotFoundError if it does not exist.
    """
    try:
        values = json_bytes.loads((directory / ORIGIN_NAME).read_bytes())
        if values["format"] != FORMAT:
            raise CorruptRecord(f"{ORIGIN_NAME} was written by another version")
        known = {field.name for field in fields(SandboxLimits)}
        limits = SandboxLimits(**{name: value for name, value in values["limits"].items() if name in known})
        config = HostConfig(sandbox_limits=limits, **values["config"])
        return Origin(values["record"], config, int(values["memory_bytes"]))
    except (json_bytes.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptRecord(f"{ORIGIN_NAME} of {directory.name} cannot be read: {error}") from error


def conditions_of(config: HostConfig, host: str) -> str:
    """Return a digest of the settings that a sandbox's run depends on; `host` is the host of its addresses."""
    settings = {name: getattr(config, name) for name in OF_THE_RUN}
    return sha256(
        json_bytes.dumps([host, settings, asdict(config.sandbox_limits)], option=json_bytes.OPT_SORT_KEYS)
    ).hexdigest()[:DIGEST_CHARS]
