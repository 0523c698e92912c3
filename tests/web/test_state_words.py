"""Every state a member or a node can have is a word in both languages, wherever a page shows it."""

import json
import re
from pathlib import Path

import pytest
from django.test import Client
from django.utils import translation

from queueviz.boards.fact_texts import VALUES
from queueviz.boards.topology_texts import SIGNS, STATES
from sandbox.cluster.actors.consumer_actor import MEMBER_STATES
from sandbox.cluster.broker_node import NODE_STATES

ROOT = Path(__file__).parents[2]
BEGINNING = "created"  # of a client object; of a member whose process is there it is `starting`
STATE_IN_CODE = re.compile(r"""(?:(?:become|became|rest|told|_end|_end_at_once)\(|_?state = |_ended[ =,]+)"(\w+)\"""")
CLIENTS = (
    "client/lifecycle.py",
    "client/instance.py",
    "cluster/actors/consumer_actor.py",
    "cluster/actors/producer_actor.py",
    "cluster/actors/actors.py",
)
SERVERS = ("cluster/broker_node.py", "cluster/nodes.py", "commands/faults.py")
LIVE = {"": ("state.",), "rebalance/": ("state.",), "clients/A/": ("state.",), "topology/": ("node.",)}
"""What a moving page puts before a state it shows."""


def states_in(paths: tuple[str, ...]) -> set[str]:
    return {state for path in paths for state in STATE_IN_CODE.findall((ROOT / "sandbox" / path).read_text("utf-8"))}


def test_the_lists_of_states_are_whole() -> None:
    """Every state of a member or a node has its texts."""
    assert states_in(CLIENTS) - {BEGINNING} <= set(MEMBER_STATES)
    assert {"running", "hung", "stopping", "stopped", "crashed"} <= states_in(CLIENTS)
    assert states_in(SERVERS) <= set(NODE_STATES)
    assert "killed" in states_in(SERVERS)


@pytest.mark.parametrize("state", sorted({*MEMBER_STATES, *NODE_STATES}))
def test_every_state_has_a_word_of_its_own_in_both_languages_and_a_sign(state: str) -> None:
    for words in (VALUES, STATES):
        with translation.override("en"):
            english = str(words[state])
        with translation.override("zh-hans"):
            chinese = str(words[state])
        assert english != chinese, "both are written"
    assert SIGNS[state] != "?"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("path", LIVE)
def test_every_page_that_moves_is_given_the_words_of_all_states(
    visitor: Client, mine: str, path: str, language: str
) -> None:
    page = visitor.get(f"/s/{mine}/{path}", headers={"Accept-Language": language}).content.decode()
    found = re.search(r'<script id="texts" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    texts = json.loads(found[1])["texts"]
    states = {*MEMBER_STATES, *NODE_STATES} if "node." in LIVE[path] else set(MEMBER_STATES)
    for family in LIVE[path]:
        for state in states:
            assert texts[family + state].isascii() is (language == "en")
