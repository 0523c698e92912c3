"""A check that a patch may fail and a release may not: Chinese texts, pages made from code."""

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
