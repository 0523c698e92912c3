"""Differing subscriptions of members, in the browser as on the server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.serializers.json import DjangoJSONEncoder

from queueviz.boards.js_texts import texts
from queueviz.boards.member_words import differ_text, group_words
from sandbox.queries.rows.member_words import EXPRESSIONS, LISTENER, MODEL, TOPICS, NamedWords, SubscriptionRow
from tests.drawings.modules import Modules

BOTH = "({ differText, groupWords }, row, members) => [differText(row), groupWords(members, row.members_differ)]"


@pytest.fixture(scope="module")
def english(node: str) -> Iterator[Modules]:
    running = Modules(node, {"texts": json.loads(json.dumps(texts(), cls=DjangoJSONEncoder)), "live": {}})
    yield running
    running.end()


def member(actor: str | None, *expressions: str, dropped: int | None = 0, **more: Any) -> NamedWords:
    wanted: list[SubscriptionRow] = [
        {"topic": "orders", "expression": expression, "kind": "TAG"} for expression in expressions
    ]
    words: NamedWords = {
        "client_id": "10.0.0.9@1",
        "actor": actor,
        "subscriptions": wanted or None,
        "model": "CLUSTERING",
        "listener": "concurrent",
        "dropped": dropped,
        "passed_over": 0,
    }
    words.update(more)  # type: ignore[typeddict-item]
    return words


@pytest.mark.parametrize("differ", [[], [EXPRESSIONS], [LISTENER, MODEL], [TOPICS, EXPRESSIONS, MODEL, LISTENER]])
def test_both_sides_write_the_same(english: Modules, differ: list[str]) -> None:
    members = [
        member("A", "a", dropped=12_000, listener="orderly"),
        member(None, dropped=None, model="BROADCASTING"),
        member("C", "*", passed_over=3),
    ]
    for shared in ([], ["app@1", "app@2"]):
        row = {"members_differ": differ, "shared_ids": shared}
        assert english("member_words", BOTH, row, members) == [differ_text(row), group_words(members, differ)]


def test_only_what_they_differ_on_is_written() -> None:
    assert group_words([member("A", "a", dropped=20)], [EXPRESSIONS]) == "A: orders a, 20 dropped by its client"
    assert group_words([member("A", "a", dropped=20)], [LISTENER]) == "A: orders a, concurrent"
