"""Directories of a sandbox's stores and journal, and of the results of jobs."""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models.signals import post_delete
from django.dispatch import receiver

from queueviz import engine

FOLDER = "pipeline"
WORKER_FOLDER = ".worker"  # Spark's own files; of one worker only, so what a killed one left can go
SEAL = "seal"  # the job
SEALED = "files"  # beside its result


class Sources(NamedTuple):
    """The sources of a job: stores by `<slug>/<broker>` and journals by slug."""

    stores: dict[str, str]
    journals: dict[str, str]


def home() -> Path:
    return Path(settings.QUEUEVIZ_HOME)


def sources_of(slug: str) -> Sources | None:
    """Return the sandbox's sources, or None if this data home does not have the sandbox."""
    return sources_in(engine.directory_of(slug))


def sources_in(directory: Path) -> Sources | None:
    """Return the sources of the sandbox in this directory, or None if the directory has no sandbox."""
    slug = directory.name
    if not (directory / "sandbox.json").is_file():
        return None
    stores = {f"{slug}/{path.name}": str(path) for path in sorted(directory.iterdir()) if (path / "commitlog").is_dir()}
    return Sources(stores, {slug: str(directory / "journal")})


def sources_of_class(directory: Path) -> Sources | None:
    """Return the sources of all sandboxes in this directory, or None if it has none."""
    below = sorted(directory.iterdir()) if directory.is_dir() else []
    if not (each_sources := [sources for path in below if (sources := sources_in(path)) is not None]):
        return None
    return Sources(
        {name: path for each in each_sources for name, path in each.stores.items()},
        {slug: path for each in each_sources for slug, path in each.journals.items()},
    )


def result_of(job: str, slug: str) -> Path:
    """Return the directory of a job's result for a sandbox or course, with its manifest and tables."""
    return home() / FOLDER / job / slug


def jobs_with_results() -> list[str]:
    """Return the jobs that have a directory of results in this data home."""
    return sorted(job.name for job in (home() / FOLDER).glob("[a-z]*/"))


def sealed_of(stores: Mapping[str, str]) -> dict[str, str]:
    """Return the directories for each store's sealed log files.

    They are never in the store, which only its broker may write.  Those of a sandbox of this data home are with its
    results; others are named after the path of their store.
    """
    return {name: str(_sealed_of(name, Path(path).resolve())) for name, path in stores.items()}


def _sealed_of(name: str, root: Path) -> Path:
    slug, slash, node = name.rpartition("/")
    if slash and root == engine.directory_of(slug).resolve() / node:
        return result_of(SEAL, slug) / SEALED / node
    digest = hashlib.sha256(str(root).encode()).hexdigest()[:16]
    return result_of(SEAL, root.name) / SEALED / digest


@receiver(post_delete, sender="queueviz.Sandbox")
def _forget(sender: Any, instance: Any, **kwargs: Any) -> None:
    """Delete the results and sealed log files of a deleted sandbox."""
    for job in jobs_with_results():
        shutil.rmtree(result_of(job, instance.slug), ignore_errors=True)
