"""Golden scripts: orders above the line, the transcript below it.  A changed transcript is a diff one can read."""

from pathlib import Path

import pytest

from tests.golden.story import Transcript, scenes

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.txt"))
SCENES = [
    pytest.param(steps, id=f"{path.stem}: {title}")
    for path in SCRIPTS
    for title, steps in scenes(path.read_text("utf-8"))
]


@pytest.mark.parametrize("steps", SCENES)
def test_the_transcript_is_still_this_one(steps: list[tuple[list[str], list[str]]]) -> None:
    transcript = Transcript()
    for orders, reported in steps:
        transcript.lines.clear()
        for order in orders:
            transcript.play(order)
        assert transcript.lines == reported
