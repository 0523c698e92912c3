"""An archive of the classes that Spark's Java loads: the next start maps them instead of reading and verifying them.

The first process that completes a run lets its Java write the archive at its exit, beside the Python packages with
the jars.  A Java that cannot use the archive (other jars, another build) ignores it silently.  A JDK with an archive
of its own extends it (`-XX:ArchiveClassesAtExit`, JEP 350).  A JDK without one, as that of PyPI, writes a cache
(`-XX:AOTCacheOutput`, JEP 514).
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from sandbox.kernel.clock import wall_ms

FOLDER = Path(sys.prefix) / "var" / "queueviz"
WRITTEN_WITHIN_S = 60.0
STALE_MS = 3_600_000  # of one that was begun: its process was killed, or its Java cannot write one
LEAST_CACHE_VERSION = 25


class Archive(NamedTuple):
    """The class archive for a Java home.

    `draft`: the file that this process lets its Java write; None if the archive exists or another process writes it.
    """

    path: Path
    draft: Path | None
    options: str


def archive_of(java: Path, environment: Mapping[str, str], folder: Path | None = None) -> Archive | None:
    """Return the class archive for a Java home, or None if no archive is possible.

    None is possible if the environment selects another Spark, because that Spark has other jars.
    """
    if "SPARK_HOME" in environment or "SPARK_CONF_DIR" in environment:
        return None
    try:
        release = (java / "release").read_bytes()
        names = _names(java, release)
        if names is None:
            return None
        read, written, quiet = names
        spark = f"spark-{version('pyspark')}-"
        folder = folder or FOLDER
        path = folder / f"{spark}{hashlib.sha256(release).hexdigest()[:16]}.jsa"
        if path.exists():
            return Archive(path, None, f"-XX:{read}={path} {quiet}")
        folder.mkdir(parents=True, exist_ok=True)
        if not _is_ours(path.with_suffix(".begun")):
            return None
        for old in folder.iterdir():
            if not old.name.startswith(spark) or (old.stem == path.stem and old.suffix != ".begun"):
                old.unlink()
    except OSError:
        return None
    draft = path.with_suffix(f".{os.getpid()}")
    return Archive(path, draft, f"-XX:{written}={draft} {quiet}")


def keep(draft: Path, java: "subprocess.Popen[bytes]", *, is_wanted: bool) -> None:
    """End the Java process and keep the archive that it wrote, completely or not at all.

    `is_wanted` is False if the process loaded too few classes for a useful archive.
    """
    begun = draft.with_suffix(".begun")
    if is_wanted:
        assert java.stdin is not None
        java.stdin.close()  # its sign to exit
        with suppress(subprocess.TimeoutExpired):
            java.wait(WRITTEN_WITHIN_S)
        if java.poll() is not None and draft.exists():
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            draft.replace(draft.with_suffix(".jsa"))
            begun.unlink(missing_ok=True)
            return
    java.kill()
    java.wait()
    draft.unlink(missing_ok=True)
    if not is_wanted:
        begun.unlink(missing_ok=True)


def _names(java: Path, release: bytes) -> tuple[str, str, str] | None:
    """Return the options that read and write an archive, and one that silences Java about it.

    None if Java has neither.
    """
    if (java / "lib" / "server" / "classes.jsa").exists():
        return "SharedArchiveFile", "ArchiveClassesAtExit", "-Xlog:cds*=off"
    first = release.partition(b'JAVA_VERSION="')[2].partition(b'"')[0].partition(b".")[0]
    if first.isdigit() and int(first) >= LEAST_CACHE_VERSION:
        return "AOTCache", "AOTCacheOutput", "-Xlog:aot*=off -Xlog:cds*=off"
    return None


def _is_ours(begun: Path) -> bool:
    """Reserve the writing of the archive for this process; return False if another process is writing it."""
    with suppress(FileNotFoundError):
        if wall_ms() - begun.stat().st_mtime_ns // 1_000_000 > STALE_MS:
            begun.unlink()
    try:
        begun.open("xb").close()
    except FileExistsError:
        return False
    return True
