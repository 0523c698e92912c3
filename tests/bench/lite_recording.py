"""Messages of one student's browser in a lab, recorded from a real run in virtual time, for the players of a class."""

import gc
import logging
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.control.actions import AnswerStep, SetRate
from tests.unit.lite.test_class_run import LAB, Browser, Server

PAUSE_S = 8
RATES = (1.0, 2.0, 4.0, 1.0)


class Recording(NamedTuple):
    """Messages of one browser by their kind, in the order in which it sent them."""

    tiles: list[dict[str, Any]]
    entries: list[dict[str, Any]]
    rows: list[dict[str, Any]]


def record() -> Recording:
    """Return the messages of a student who answers the lab's first question and sets the clock's rate."""
    with tempfile.TemporaryDirectory() as home:
        browser = Browser(Path(home), Server()).open()
        browser.act(AnswerStep(lab=LAB.slug, step=1, part="predict", value="3", key="a-prediction"))
        for rate in RATES:
            browser.pass_s(PAUSE_S)
            browser.act(SetRate(rate=rate))
        browser.pass_s(PAUSE_S)
        recording = Recording(
            *([sent for sent in browser.sent if sent["k"] == kind] for kind in ("tile", "came", "lab"))
        )
        logging.disable(logging.ERROR)  # a worker's engine ends with its page, without a word
        browser.loop.run(browser.run._lite.end())
        del browser
        gc.collect()
        logging.disable(logging.NOTSET)
    return recording
