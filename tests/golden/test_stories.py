"""Golden scripts: orders above the line, the story below it.  A changed story is a diff one can read."""

from pathlib import Path

import pytest

from tests.golden.story import Story, scenes

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.txt"))
SCENES = [pytest.param(steps, id=f"{path.stem}: {title}")
          for path in SCRIPTS for title, steps in scenes(path.read_text("utf-8"))]


@pytest.mark.parametrize("steps", SCENES)
def test_the_story_is_still_this_one(steps: list[tuple[list[str], list[str]]]) -> None:
    story = Story()
    for orders, told in steps:
        story.lines.clear()
        for order in orders:
            story.play(order)
        assert story.lines == told
