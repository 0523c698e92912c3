"""The steps of a search by key, as plain values for viewers."""

from typing import NamedTuple


class EntryStep(NamedTuple):
    """One entry that a search read.

    `verdict`: match, other_key, other_hash, too_old, too_new.  other_key: hash and time fit, but the record has
    another topic or key; a broker returns it, and the client drops it.
    """

    no: int
    position: int
    hash: int
    physical_offset: int
    time_diff_s: int
    at_ms: int
    previous: int
    verdict: str


class FileWalk(NamedTuple):
    """One index file of a search.  Files are in search order, newest first.

    `why`: the reason why it was searched or not: in_range, out_of_range, not_reached.
    """

    name: str
    begin_ms: int
    end_ms: int
    searched: bool
    why: str
    slots: int
    slot: int
    slot_position: int
    slot_value: int
    chain: tuple[EntryStep, ...]


class IndexWalk(NamedTuple):
    """A whole search by key.  `ended`: enough, begin_passed, no_more_files, no_files."""

    topic: str
    key: str
    text: str  # the hashed text
    hash_signed: int
    hash: int
    begin_ms: int
    end_ms: int
    files: tuple[FileWalk, ...]
    found: tuple[int, ...]  # physical offsets, in search order
    ended: str
    last_update_ms: int
    last_update_physical: int
