"""`recording.js` reads by ranges what sandbox.recording reads from the file."""

import io
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

import orjson
import pytest

from queueviz.boards.player_texts import PLAYER_WORDS
from sandbox.recording.reader import Recording
from sandbox.recording.writer import write_recording
from tests.drawings.modules import Modules

GOLDEN = Path(__file__).parents[1] / "golden" / "recordings" / "0.1.0.qvr"
AT = (
    "async ({ Recording }, url, seqs) => { const found = await Recording.open(url); const all = [];"
    " for (const seq of seqs) all.push(await found.at(seq)); return all; }"
)
FACTS = "async ({ Recording }, url, first, last) => (await Recording.open(url)).facts(first, last)"
KEYFRAME = "async ({ Recording }, url, seq) => (await Recording.open(url)).keyframe(seq)"
BOTH = (
    "async ({ Recording }, url, seq) => { const found = await Recording.open(url); await found.keyframe(seq);"
    " return Promise.all([found.at(seq), found.at(seq)]); }"
)
INDEX = "async ({ Recording }, url) => (await Recording.open(url)).index()"
WRONG = (
    "async ({ Recording }, url, seq) => { try { await (await Recording.open(url)).at(seq); return null; }"
    " catch (error) { return `${error.constructor.name}: ${error.message}`; } }"
)


class Ranges:
    """A server of one file; `asked`: the bytes of each answer."""

    def __init__(self, data: bytes) -> None:
        self.asked: list[int] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
                part = data[int(first) : int(last) + 1]
                asked.append(len(part))
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}")
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                self.wfile.write(part)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/a.qvr"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def served() -> Iterator[Ranges]:
    served = Ranges(GOLDEN.read_bytes())
    yield served
    served.close()


def test_at_every_event_both_readers_have_the_same_state(modules: Modules, served: Ranges) -> None:
    with GOLDEN.open("rb") as file:
        found = Recording(file)
        first, last = found.head.seq
        seqs = [*range(first, last, max(1, (last - first) // 60)), last, last + 5]
        assert modules("recording", AT, served.url, seqs) == [found.at(seq)._asdict() for seq in seqs]


def test_both_readers_have_the_same_facts_and_index(modules: Modules, served: Ranges) -> None:
    with GOLDEN.open("rb") as file:
        found = Recording(file)
        middle = sum(found.head.seq) // 2
        assert modules("recording", FACTS, served.url, middle, found.head.seq[1]) == [
            *found.facts(middle, found.head.seq[1])
        ]
        assert modules("recording", INDEX, served.url) == [mark._asdict() for mark in found.index()]


def test_the_first_picture_of_ten_hours_takes_two_requests_and_60_kb(modules: Modules) -> None:
    data, seq = ten_hours()
    served = Ranges(data)
    keyframe = modules("recording", KEYFRAME, served.url, seq)
    served.close()
    file = Recording(io.BytesIO(data))
    begins = max(chunk.seq for chunk in file.head.chunks if chunk.seq <= seq)
    assert keyframe == file.at(begins)._asdict()
    assert len(served.asked) == 2, "the head, and the keyframe"
    assert sum(served.asked) <= 60_000


def test_after_its_keyframe_the_rest_of_a_chunk_is_asked_for_once(modules: Modules) -> None:
    data, seq = ten_hours()
    served = Ranges(data)
    states = modules("recording", BOTH, served.url, seq)
    served.close()
    file = Recording(io.BytesIO(data))
    assert states == [file.at(seq)._asdict()] * 2
    place = max((chunk for chunk in file.head.chunks if chunk.seq <= seq), key=lambda chunk: chunk.seq)
    assert served.asked[1:] == [place.keyframe_bytes, place.deltas_bytes]


def ten_hours() -> tuple[bytes, int]:
    """The kept recording over and over, and an event in the middle of it."""
    with GOLDEN.open("rb") as file:
        found = Recording(file)
        once = list(found.frames())[::20]
        about = found.head.about
    span, length_ms = once[-1].seq - once[0].seq, 180_000
    frames = [
        frame._replace(seq=frame.seq + n * span, at_ms=frame.at_ms + n * length_ms)
        for n in range(200)
        for frame in once
    ]
    return write_recording(about, frames, []), frames[len(frames) // 2].seq


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lambda data: b"x" + data, "other"),
        (lambda data: data.replace(b'"version":1', b'"version":9', 1), "version"),
        (lambda data: data[:-1], "cut"),
        (lambda data: b"", "empty"),
        (lambda data: data[:1_500] + b"\0" * 60 + data[1_560:], "damaged"),
    ],
)
def test_a_damaged_file_is_refused_with_the_kind_of_its_trouble(
    modules: Modules, damage: Callable[[bytes], bytes], kind: str
) -> None:
    served = Ranges(damage(GOLDEN.read_bytes()))
    said = modules("recording", WRONG, served.url, 13)
    served.close()
    assert said == f"BadRecording: {kind}"


TROUBLE = """async ({ Recording, BadRecording }, packed) => {
  try {
    const found = await Recording.of(Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0)));
    for (const seq of found.seqs) await found.at(seq);
    await found.facts(...found.about.seq);
    await found.index();
    return "sound";
  } catch (error) { return error instanceof BadRecording ? error.message : "damaged"; }
}"""


def trouble_of(modules: Modules, data: bytes) -> str:
    return str(modules("recording", TROUBLE, b64encode(data).decode()))


def test_of_any_file_the_player_knows_what_is_wrong(modules: Modules) -> None:
    """Empty, cut anywhere, or with a byte of it changed: a word of the player's, and no other error."""
    data = GOLDEN.read_bytes()
    assert trouble_of(modules, data) == "sound"
    assert trouble_of(modules, b"") == "empty"
    assert trouble_of(modules, b"PNG and more\n" * 50) == "other"
    assert {trouble_of(modules, data[:size]) for size in range(1, len(data), len(data) // 40)} <= {"cut", "other"}
    chance = Random(7)
    seen = set()
    for _ in range(120):
        at = chance.randrange(len(data))
        seen.add(trouble_of(modules, data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]))
    assert seen <= {"sound", "cut", "damaged", "other", "version"}
    assert "damaged" in seen
    line, _, rest = data.partition(b"\n")
    for name in ("directory_bytes", "index_bytes", "seq"):
        for value in (None, "x", [], -1, 2**60):
            changed = orjson.dumps(orjson.loads(line) | {name: value}) + b"\n" + rest
            assert trouble_of(modules, changed) in {"cut", "damaged", "sound"}, (name, value)
    assert set(PLAYER_WORDS) >= {
        f"player.bad {kind}" for kind in ("empty", "cut", "damaged", "other", "version", "unreachable")
    }
