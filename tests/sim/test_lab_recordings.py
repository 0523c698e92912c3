"""The opening of a lab: the same events in another student's sandbox, without the last step."""

import io

import pytest

from sandbox.labs.catalogue import LABS
from sandbox.recording.reader import Recording
from sandbox.simulation.lab_recording import LEAST_S, LEFT_OUT, MOST_S, SEED, record_lab

QUICK = ("members-and-queues", "retention")
SLOW = [pytest.param(slug, marks=pytest.mark.wide) for slug in LABS if slug not in QUICK]


@pytest.mark.parametrize("slug", [*QUICK, *SLOW])
def test_all_steps_but_the_last_are_met_in_it_with_other_numbers(slug: str) -> None:
    lab = LABS[slug]
    made = record_lab(lab, "test")
    recording = Recording(io.BytesIO(made.data))
    recording.check()
    head = recording.head
    assert head.about.seed == SEED
    assert LEAST_S * 1000 <= made.lasts_ms == head.at_ms[1] - head.at_ms[0]
    assert len(made.notes) == len(lab.steps) - 1 or made.lasts_ms >= MOST_S * 1000
    assert all(head.seq[0] < seq <= head.seq[1] for seq, _, _ in made.notes)
    assert all(text.format(**values) for _, text, values in made.notes)
    answered = [row["step"] for row in recording.facts(*head.seq) if row["type"] == "PredictionGiven"]
    assert len(lab.steps) not in answered
    values = [
        row["value"] if row["type"] == "PredictionGiven" else row["fields"]["value"]
        for row in recording.facts(*head.seq)
        if row["type"] == "PredictionGiven" or row.get("action") == "AnswerStep"
    ]
    assert values, "that the other one answered is there"
    assert set(values) == {LEFT_OUT}, "and not what: a reason that is right there is right in any attempt"
