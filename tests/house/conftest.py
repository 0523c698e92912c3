"""What a patch need not bring: a Chinese text, a page made from code.  A run warns of it, and `--release` fails."""

import warnings
from collections.abc import Callable, Sequence

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
