"""Receipts: proof that an answer is in the journal, by a hash of the journal up to it."""

from hashlib import sha256
from typing import Any, NamedTuple

from sandbox.journal.events import ActionTaken, Entry
from sandbox.journal.segments import line_of
from sandbox.kernel.errors import ActionRefused


class Receipt(NamedTuple):
    """Receipt of an answer.

    `digest`: SHA-256 in hex of the attempt's journal lines up to and including this answer.  `key`: the sender's
    name for the answer; empty without one.
    """

    step: int
    part: str
    seq: int
    at_ms: int
    digest: str
    key: str = ""


class Receipts:
    """Receipts of an attempt, with the running hash of the journal."""

    def __init__(self) -> None:
        self._hash = sha256()
        self._by_key: dict[str, tuple[int, dict[str, object]]] = {}
        self.kept: list[Receipt] = []

    def add(self, entry: Entry) -> None:
        self._hash.update(line_of(entry))
        event = entry.event
        if isinstance(event, ActionTaken) and event.action == "AnswerStep" and event.fields.get("key"):
            self._by_key.setdefault(event.fields["key"], (entry.seq, event.fields))

    def seq_of(self, fields: dict[str, Any]) -> int | None:
        """Return the seq of the `ActionTaken` of the answer with this key; None if it was not received yet.

        Raises ActionRefused (409) if the key belongs to another answer.
        """
        seq, known = self._by_key.get(fields.get("key", ""), (None, fields))
        if any(known[name] != fields[name] for name in ("lab", "step", "part", "value")):
            raise ActionRefused(409, "Another answer with this key was already received.", "Answer again.", field="key")
        return seq

    def digest(self) -> str:
        return self._hash.hexdigest()

    def keep(self, receipt: Receipt) -> None:
        self.kept.append(receipt)
