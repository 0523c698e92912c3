"""Receipts: proof that an answer is in the journal, by the journal's hash up to it."""

from hashlib import sha256
from typing import NamedTuple

from sandbox.journal.events import Entry
from sandbox.journal.segments import line_of


class Receipt(NamedTuple):
    """`digest`: SHA-256 in hex over the lines of the attempt's journal, up to and with this answer."""

    step: int
    part: str
    seq: int
    at_ms: int
    digest: str


class Receipts:
    """Hashes the journal line by line; keeps what was received."""

    def __init__(self) -> None:
        self._hash = sha256()
        self.kept: list[Receipt] = []

    def add(self, entry: Entry) -> None:
        self._hash.update(line_of(entry))

    def digest(self) -> str:
        return self._hash.hexdigest()

    def keep(self, receipt: Receipt) -> None:
        self.kept.append(receipt)
