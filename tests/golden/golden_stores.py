"""The recorded stores, unpacked, and what a real client read from them."""

import json
import lzma
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MANIFEST = HERE / "manifest" / "basic"
NAMES = ("basic-clean", "basic-crash", "basic-recovered")


def unpack(name: str, into: Path) -> Path:
    """The store directory of one recording."""
    with lzma.open(HERE / "stores" / f"{name}.tar.xz") as packed, tarfile.open(fileobj=packed) as archive:
        archive.extractall(into, filter="data")
    return into / "store"


@lru_cache
def rows(name: str) -> tuple[dict[str, Any], ...]:
    """One recorded table."""
    return tuple(json.loads(line) for line in (MANIFEST / f"{name}.jsonl").read_text("utf-8").splitlines())


@lru_cache
def queue_ends() -> dict[tuple[str, int], dict[str, Any]]:
    """Return the broker's ends of every recorded queue."""
    recorded = json.loads((MANIFEST / "queues.json").read_text("utf-8"))["queues"]
    return {(row["topic"], row["queueId"]): row for row in recorded}
