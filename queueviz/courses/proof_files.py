"""Directories of executed runs: a draft in the data home, and its place among the sandboxes when it is complete."""

import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models.signals import post_delete
from django.dispatch import receiver

from queueviz import engine
from queueviz.slugs import is_in_browser

FOLDER = "proofs"


def home() -> Path:
    return Path(settings.QUEUEVIZ_HOME)


def new_draft(slug: str) -> Path:
    """Return the directory for the next execution, which does not exist yet."""
    draft = home() / FOLDER / slug
    remove(draft)
    draft.parent.mkdir(parents=True, exist_ok=True)
    return draft


def put_in_place(draft: Path) -> None:
    """Make a complete draft the directory of its sandbox, instead of an earlier one."""
    directory = engine.directory_of(draft.name)
    earlier = draft.with_name(f"{draft.name}.earlier")
    remove(earlier)
    directory.parent.mkdir(parents=True, exist_ok=True)
    if directory.exists():
        directory.rename(earlier)
    draft.rename(directory)
    remove(earlier)


def remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)


@receiver(post_delete, sender="queueviz.Sandbox")
def _forget(sender: Any, instance: Any, **kwargs: Any) -> None:
    """Delete the executed run of a deleted sandbox: no engine knows its directory."""
    if is_in_browser(instance.slug):
        remove(engine.directory_of(instance.slug))
        remove(home() / FOLDER / instance.slug)
