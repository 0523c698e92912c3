"""Behind a live link: on every channel only what names the sandbox is renamed, and what was stored stays as it is."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from queueviz.access.hidden_names import Mask
from sandbox.control.channel_names import KINDS
from sandbox.control.readings import Reading
from sandbox.live import frames

SLUG, SECRET = "calm-owl-aaaaaa", "secret-of-a-link"
MASK = Mask(SLUG, SECRET)
NAMELIKE = (
    SLUG,
    MASK.alias,
    "calm-owl-bbbbbb",
    "another-sandbox",
    f"/s/{SLUG}/",
    f"/api/sandboxes/{SLUG}",
    "owner ada",
    '"by": "owner ada"',
    '{"k":"snap","ch":"board/calm-owl-aaaaaa/g/t"}',
    "\\",
    '"',
    "\u2028",
)
TEXTS = st.lists(st.sampled_from(NAMELIKE) | st.text(max_size=4), max_size=4).map(" ".join)
NAMES = st.sampled_from(("body", "key", "properties", "keys", "by", "slug", "ch", "name", "rows", "seed", "of"))
VALUES = st.recursive(
    st.none() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | NAMES, inner, max_size=4),
    max_leaves=10,
)
BOARDS = st.dictionaries(st.sampled_from(("queues", "records", "header", "body")), VALUES, max_size=3)
ROWS = st.lists(
    st.builds(
        lambda values: {**values, "seq": "7", "type": "MessagePinned"}, st.dictionaries(NAMES, VALUES, max_size=4)
    ),
    max_size=3,
)
PARTS = st.sampled_from(("g", SLUG, MASK.alias, "calm-owl-bbbbbb"))


@st.composite
def channels(draw: Any) -> str:
    """Draw channels of every kind, with any other parts and a filter of messages."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    parts = [draw(PARTS) for _ in range(KINDS[kind].parts[-1])]
    query = draw(st.sampled_from(("", f"?key={SLUG}&topic={SLUG}"))) if kind == "messages" else ""
    return "/".join((kind, SLUG, *parts)) + query


def masked(text: str) -> Any:
    return orjson.loads(MASK.frame(text))


@given(channels(), BOARDS)
def test_what_a_channel_shows_is_as_it_was_read(name: str, board: dict[str, Any]) -> None:
    reading = Reading(7, 1_000, 1.0, "7f3a", board)
    snap = frames.snap(name, 1, reading)
    delta = frames.delta(name, 2, reading, frames.Delta(board, {"queues": [SLUG]}), pace_changed=True)
    for text in (snap, delta, frames.end(name, "unknown")):
        before, after = orjson.loads(text), masked(text)
        assert after == before | {"ch": after["ch"]}
        assert list(after) == list(before)
        kind, known_as, *parts = after["ch"].partition("?")[0].split("/")
        assert (kind, known_as, parts) == (name.split("/")[0], MASK.alias, name.partition("?")[0].split("/")[2:])
        assert MASK.message({"k": "sub", "ch": after["ch"]}) == {"k": "sub", "ch": name}
        assert MASK.message({"k": "ack", "n": {after["ch"]: 3}}) == {"k": "ack", "n": {name: 3}}


@given(ROWS)
def test_facts_are_as_they_were_written(rows: list[dict[str, Any]]) -> None:
    text = frames.facts(f"facts/{SLUG}", rows, first=3)
    assert masked(text) == orjson.loads(text) | {"ch": f"facts/{MASK.alias}"}


@given(TEXTS)
def test_of_facts_only_who_acted_the_seed_and_the_sandbox_s_own_row_are_changed(text: str) -> None:
    fields = {"body": text, "key": text}
    rows = [
        {"type": "ActionTaken", "seq": "1", "by": f"owner {text}", "action": "SendMessages", "fields": fields},
        {"type": "SandboxOpened", "seq": "2", "template": text, "seed": f"{SLUG} 1"},
        {"type": "LabStarted", "seq": "3", "lab": text, "seed": f"{SLUG} 1"},
        {
            "type": "Keyframe",
            "seq": "4",
            "snapshot": {"sandbox": {"slug": SLUG, "name": SLUG, "template": text}, "topics": [{"topic": text}]},
        },
    ]
    found = masked(frames.facts(f"facts/{SLUG}", rows))["rows"]
    assert found == [
        rows[0] | {"by": "owner"},
        rows[1] | {"seed": None},
        rows[2] | {"seed": None},
        rows[3]
        | {
            "snapshot": {
                "sandbox": {"slug": MASK.alias, "name": MASK.alias, "template": text},
                "topics": [{"topic": text}],
            }
        },
    ]


@given(st.sampled_from(("lab", "tile")), TEXTS)
def test_of_who_has_taken_over_the_role_alone_is_shown(kind: str, text: str) -> None:
    part = "hold" if kind == "lab" else "tile"
    reading = Reading(7, 1_000, 1.0, "7f3a", {part: {"acts": "ada", "frozen": True, "said": text}})
    shown = masked(frames.snap(f"{kind}/{SLUG}", 1, reading))
    assert shown["data"] == {part: {"acts": "instructor", "frozen": True, "said": text}}


@given(TEXTS)
def test_a_sentence_of_ours_names_no_sandbox(text: str) -> None:
    found = MASK.text(f"{text}/s/{SLUG}/ {SLUG} calm-owl-bbbbbb")
    assert SLUG not in found
    assert "calm-owl-bbbbbb" not in found
