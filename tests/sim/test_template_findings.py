"""Findings of each template over ten minutes without anyone's doing: none of them opens again and again."""

from collections import Counter
from collections.abc import Callable

import pytest

from sandbox.cluster.templates import TEMPLATES
from tests.sim.finding_stage import FindingStage

MINUTES, MOST_OPENINGS = 10, 2


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_finding_of_a_template_opens_more_than_twice_in_ten_minutes(
    staged: Callable[..., FindingStage], template: str
) -> None:
    stage = staged(template)
    stage.run(MINUTES * 60)
    counts = Counter((line.code, line.subject) for line in stage.opened)
    assert {key: count for key, count in counts.items() if count > MOST_OPENINGS} == {}


def test_the_template_of_retries_names_its_bad_message_once(staged: Callable[..., FindingStage]) -> None:
    stage = staged("retries")
    stage.run(MINUTES * 60)
    poison = [line for line in stage.opened if line.code == "poison_message"]
    assert [line.subject for line in poison] == ["order-svc"]
    assert poison[0].text.startswith("order-poison failed 3 of 16 times")
