"""A check that a patch may fail and a release may not: Chinese texts, pages made from code."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

NeededForRelease = Callable[[Sequence[str], str], None]


class MissingForRelease(UserWarning):
    """Something to be done before a release."""


@pytest.fixture
def needed_for_release(request: pytest.FixtureRequest) -> NeededForRelease:
    """Take what is missing, and how to mend it."""

    def judge(missing: Sequence[str], advice: str) -> None:
        if request.config.option.release:
            assert list(missing) == [], advice
        elif missing:
            warnings.warn(MissingForRelease(f"{advice}: {'; '.join(missing)}"), stacklevel=2)

    return judge


def stale_pages(made: Mapping[str, str], docs: Path) -> list[str]:
    """Return the pages below `docs` that differ from `made`, and those of its folders that it lacks."""
    folders = {path.parent for path in map(Path, made) if path.parent.name}
    written = {page.relative_to(docs).as_posix() for folder in folders for page in (docs / folder).glob("*.md")}
    differing = {name for name, text in made.items() if not (docs / name).exists() or (docs / name).read_text() != text}
    return sorted(differing | written - set(made))
