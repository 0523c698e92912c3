"""Exact boards of the past: asked for once, then taken out of the recording."""

import io
from itertools import pairwise
from typing import Any

import pytest

from sandbox.recording.reader import Recording
from tests.drawings.modules import Modules
from tests.drawings.test_recording_reader import GOLDEN, Ranges

END = "({ endOf }, stretches, newest, most) => endOf(stretches, newest, most)"
# The server says 202 twice, then it sends ranges of the file; waiting takes no time.
BOARDS = """async ({ ExactBoards }, url, shown, last, before, seqs, times = []) => {
  const real = { fetch, setTimeout }, asked = [], kept = new Map(), said = [];
  const getItem = (key) => kept.get(key) ?? null, setItem = (key, value) => kept.set(key, value);
  globalThis.sessionStorage = { getItem, setItem };
  globalThis.setTimeout = (done) => real.setTimeout(done);
  if (before !== null) sessionStorage.setItem('/api', before);
  let waits = 2;
  globalThis.fetch = async (address, options) => {
    asked.push(address);
    if (!waits--) waits = 0;
    else return { status: 202, ok: true, json: async () => ({ progress: 0.43, from: '3', to: String(last) }) };
    return real.fetch(url, options);
  };
  try {
    let ready, failed;
    const done = new Promise((yes, no) => { [ready, failed] = [yes, no]; });
    const heard = (one) => said.push(one);
    const boards = new ExactBoards('/api', shown, { heard, ready, failed: (why) => failed(Error(why)) });
    boards.reach(last, seqs[0]);
    const at_once = await boards.at(seqs[0]);
    await done;
    const found = [];
    for (const [at, seq] of seqs.entries()) found.push(await boards.at(seq, times[at]));
    return { at_once, found, said, ranges: [...new Set(asked)], kept: kept.get('/api') };
  } finally { Object.assign(globalThis, real); }
}"""


def stretch(first: int, last: int, *, reproducible: bool) -> dict[str, Any]:
    return {"from": first, "to": last, "reproducible": reproducible, "why": None}


@pytest.mark.parametrize(
    ("stretches", "end"),
    [
        ([stretch(0, 9_000, reproducible=True)], 800),
        ([stretch(0, 500, reproducible=True), stretch(600, 9_000, reproducible=False)], 500),
        ([stretch(0, 9_000, reproducible=False)], -1),
        ([], -1),
    ],
)
def test_a_recording_ends_with_its_stretch_the_newest_event_or_the_limit(
    modules: Modules, stretches: list[dict[str, Any]], end: int
) -> None:
    assert modules("replay_exact", END, stretches, 800, 10_000) == end
    assert modules("replay_exact", END, stretches, 9_000, 100) == min(end, 99)


def test_until_the_recording_is_there_the_fold_stays_then_every_board_is_of_a_frame(modules: Modules) -> None:
    file = Recording(io.BytesIO(GOLDEN.read_bytes()))
    first, last = file.head.seq
    channel = next(name for name in file.at(last).state["channels"] if name.startswith("board/"))
    _, group, topic = channel.split("/")
    served = Ranges(GOLDEN.read_bytes())
    seqs = [(first + last) // 2, last, last + 1, first - 1]
    answer = modules("replay_exact", BOARDS, served.url, {"group": group, "topic": topic}, last, None, seqs)
    served.close()
    assert answer["at_once"] is None
    assert answer["said"] == [0.43, 0.43]
    assert answer["ranges"] == [f"/api/recording?from=0&to={last}", f"/api/recording?from=3&to={last}"]
    frames = [file.at(seq) for seq in seqs[:2]]
    assert answer["found"][:2] == [
        {"seq": frame.seq, "at_ms": frame.at_ms, "board": frame.state["channels"][channel]} for frame in frames
    ]
    assert answer["found"][2:] == [None, None], "beyond the recording"
    assert answer["kept"] == str(last)


def test_a_fact_has_the_frame_at_the_end_of_its_millisecond(modules: Modules) -> None:
    file = Recording(io.BytesIO(GOLDEN.read_bytes()))
    before, after = next((one, two) for one, two in pairwise(file.frames()) if two.seq > one.seq + 1)
    channel = next(name for name in before.state["channels"] if name.startswith("board/"))
    _, group, topic = channel.split("/")
    served, seq = Ranges(GOLDEN.read_bytes()), before.seq + 1
    times = [after.at_ms, after.at_ms - 1]
    last = file.head.seq[1]
    shown = {"group": group, "topic": topic}
    answer = modules("replay_exact", BOARDS, served.url, shown, last, None, [seq, seq], times)
    served.close()
    assert [found["seq"] for found in answer["found"]] == [after.seq, before.seq]


def test_a_later_visit_asks_for_the_recording_that_was_made(modules: Modules) -> None:
    served = Ranges(GOLDEN.read_bytes())
    shown = {"group": "none", "topic": "none"}
    answer = modules("replay_exact", BOARDS, served.url, shown, 900, "700", [650])
    later = modules("replay_exact", BOARDS, served.url, shown, 900, "700", [800])
    served.close()
    assert (answer["ranges"][0], later["ranges"][0]) == ("/api/recording?from=0&to=700", "/api/recording?from=0&to=900")
    assert answer["found"] == [None], "it holds no such board"
