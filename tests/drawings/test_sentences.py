"""Sentences of the journal as the pages write them, with the texts that the server hands over."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.serializers.json import DjangoJSONEncoder

from queueviz.boards.js_texts import texts
from sandbox.journal.event_filter import is_step
from tests.drawings.modules import Modules

SENTENCE = "({ sentence }, fact) => sentence(fact, (who) => who, (key) => key.replace('broker-', ''))"
STEPS = "({ isStep }, rows) => rows.map(isStep)"


@pytest.fixture(scope="module")
def english(node: str) -> Iterator[Modules]:
    """Modules on the Journal page."""
    page = {"texts": json.loads(json.dumps(texts(), cls=DjangoJSONEncoder)), "live": {"tab": "journal"}}
    running = Modules(node, page)
    yield running
    running.end()


def sent(count: str) -> dict[str, Any]:
    return {
        "type": "ActionTaken",
        "action": "SendMessages",
        "by": "owner owner",
        "fields": {"topic": "orders", "count": count},
    }


def test_an_action_is_written_once_and_counted(english: Modules) -> None:
    assert english("words", SENTENCE, sent("1")) == "1 message sent to orders, by owner"
    assert english("words", SENTENCE, sent("2")) == "2 messages sent to orders, by owner"


@pytest.mark.parametrize("topic", ["orders", "%RETRY%order-svc"])
def test_a_queue_goes_by_its_topic(english: Modules, topic: str) -> None:
    lock = {"type": "QueueLocked", "how": "free", "client_id": "A", "topic": topic, "broker": "broker-a", "queue_id": 0}
    assert english("words", SENTENCE, lock).startswith(f"{topic} a:0 locked by A")


def test_the_page_and_the_engine_agree_on_what_a_step_is(english: Modules) -> None:
    """`isStep` filters what arrives, `is_step` what is looked up."""
    rows: list[dict[str, Any]] = [{"type": "QueueLocked", "how": how} for how in ("free", "renewed", "taken_over")]
    rows += [
        {"type": "QueuesAssigned", "topic": topic, "added": added, "dropped": []}
        for topic in ("orders", "%RETRY%g")
        for added in ([], ["broker-a:0"])
    ]
    rows += [{"type": kind} for kind in ("OffsetsPersisted", "LifecycleStep", "ActionTaken", "Keyframe")]
    assert english("journal_list", STEPS, rows) == [is_step(row) for row in rows]


def test_a_finding_of_a_queue_has_the_name_of_the_board(english: Modules) -> None:
    opened = {
        "type": "FindingOpened",
        "kind": "queue",
        "subject": "broker-a:2",
        "code": "suspended",
        "severity": "warning",
    }
    assert english("words", SENTENCE, opened) == "a:2: listener suspends the queue"
    alone = "({ sentence }, fact) => sentence(fact, (who) => who)"
    assert english("words", alone, opened) == "broker-a:2: listener suspends the queue"
