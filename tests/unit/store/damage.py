"""Damage done to a store's files."""

from pathlib import Path


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def flip(path: Path, at: int, bits: int = 0x10) -> None:
    overwrite(path, at, bytes([path.read_bytes()[at] ^ bits]))


def index_file(root: Path) -> Path:
    return next((root / "index").iterdir())
