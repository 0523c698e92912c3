"""Small vectors recorded from RocketMQ's own classes."""

import json
from pathlib import Path
from typing import Any

_DIRECTORY = Path(__file__).parent / "util"


def vectors(name: str) -> list[dict[str, Any]]:
    lines = (_DIRECTORY / f"{name}.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]
