"""Recordings that releases wrote: they open for ever, with the states and facts that release read from them."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.recording.reader import Recording

pytestmark = pytest.mark.golden

HERE = Path(__file__).parent / "recordings"


def digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def read(data: bytes) -> dict[str, Any]:
    found = Recording(io.BytesIO(data))
    found.check()
    frames = list(found.frames())
    return {
        "frames": len(frames),
        "states": digest([frame._asdict() for frame in frames]),
        "facts": digest(list(found.facts(*found.head.seq))),
        "index": digest([*found.index()]),
        "header": frames[-1].state["channels"]["board/order-svc/orders"]["header"],
    }


@pytest.mark.parametrize("release", sorted(path.stem for path in HERE.glob("*.qvr")))
def test_a_recording_of_an_earlier_release_opens(release: str) -> None:
    assert read((HERE / f"{release}.qvr").read_bytes()) == json.loads((HERE / f"{release}.json").read_text("utf-8"))
