"""Directories in a source's options: paths and `file:` URIs, alone or with names."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote_to_bytes

from sandbox.kernel import json_bytes

PATHS = "paths"
"""The option in which Spark passes the directories of `load([a, b])`, as JSON."""
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?:/([^/]*))?(.*)", re.DOTALL)


def local_path(text: str | Path) -> Path:
    """Return the directory of a path or a `file:` URI.  Raises ValueError for a URI of another scheme or machine.

    A URI is percent-decoded, unless the directory exists as it is written: Spark's catalog writes paths as `file:`
    without encoding them.
    """
    match = _URI.fullmatch(str(text))
    if match is None:
        return Path(text)
    scheme, host, rest = match.groups()
    if scheme.lower() != "file" or (host or "localhost") != "localhost":
        raise ValueError(f"{text} is not a local directory. Mount or copy it, and set its local path.")
    written = Path("/", rest.lstrip("/"))
    return written if written.exists() else Path(os.fsdecode(unquote_to_bytes(str(written))))


def has_names(options: Mapping[str, str], option: str) -> bool:
    """Return True if the directories of a read have names: those of `option` (JSON), or of `load([a, b])`."""
    return option in options or PATHS in options


def named_directories(options: Mapping[str, str], option: str, owner: Callable[[Path], Path] = Path) -> dict[str, Path]:
    """Return the directories of `option`, a JSON object by name, or of `load([a, b])`.

    `owner`: the directory that gives a loaded one its name.  Raises ValueError.
    """
    if PATHS in options:
        if option in options:
            raise ValueError(f"Set load([…]) or the option {option}, not both.")
        return by_name([local_path(path) for path in json_bytes.loads(options[PATHS])], owner)
    try:
        named = json_bytes.loads(options[option])
    except json_bytes.JSONDecodeError as error:
        raise ValueError(f"Option {option} is not JSON ({error}). Write it as {{name: directory}}.") from None
    if not isinstance(named, dict) or not named or not all(isinstance(path, str) and path for path in named.values()):
        raise ValueError(
            f"Option {option} must be a JSON object of names and directories, with at least one {option[:-1]}."
        )
    return {name: local_path(path) for name, path in named.items()}


def by_name(directories: Sequence[Path], owner: Callable[[Path], Path] = Path) -> dict[str, Path]:
    """Return the directories by the last names of their owners, with as many parents as make a name unique.

    Raises ValueError for a directory that is listed twice.
    """
    parts = [Path(os.path.abspath(owner(directory))).parts for directory in directories]
    names: dict[str, Path] = {}
    for number, (directory, own) in enumerate(zip(directories, parts, strict=True)):
        others = parts[:number] + parts[number + 1 :]
        if own in others:
            raise ValueError(f"{directory} is listed twice. Load each directory once.")
        length = next(count for count in range(1, len(own) + 1) if own[-count:] not in {o[-count:] for o in others})
        names[str(Path(*own[-length:]))] = directory
    return names
