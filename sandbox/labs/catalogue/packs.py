"""Packs: labs that belong together, in the order in which they are done.  An exam is drawn from one pack."""

from typing import NamedTuple

from sandbox.kernel.chance import Chance
from sandbox.labs.catalogue import named
from sandbox.labs.lab import Lab
from sandbox.labs.translation_marks import _


class Pack(NamedTuple):
    """Pack of labs; `numbers` are the labs' numbers.  Each lab is in one pack."""

    slug: str
    title: str
    goal: str
    numbers: tuple[str, ...]

    @property
    def labs(self) -> tuple[Lab, ...]:
        return tuple(lab for number in self.numbers if (lab := named(number)) is not None)


PACKS = (
    Pack("first-hour", _("First hour"), _("Begin here: lag, duplicates, offsets, members."), ("N0", "3", "2", "4")),
    Pack(
        "at-least-once",
        _("At least once"),
        _("For developers: what a handler and a sender must expect."),
        ("N5", "N2", "N4", "N1"),
    ),
    Pack(
        "one-slow-queue",
        _("One slow queue"),
        _("For developers: why one queue lags while the others are idle."),
        ("N3", "N6", "N7"),
    ),
    Pack(
        "queues-and-members",
        _("Queues and members"),
        _("For those who create topics and groups."),
        ("12", "11", "7"),
    ),
    Pack(
        "operations",
        _("Operations"),
        _("For those who run a cluster: resets, deploys, fewer queues, retention."),
        ("1", "13", "5", "6", "8", "N9"),
    ),
    Pack(
        "outages",
        _("Outages and delays"),
        _("For those who run a cluster: what clients see when a part fails or waits."),
        ("15", "16", "N8"),
    ),
    Pack(
        "store-and-index",
        _("Store and index"),
        _("Advanced: bytes on disk, the index, durability."),
        ("10", "9", "14"),
    ),
)

EXAM_LABS = 5


def exam_of(pack: Pack, seed: str) -> tuple[Lab, ...]:
    """Return up to five labs of a pack in random order; the same seed returns the same exam."""
    chance, left = Chance(seed).fork(f"exam {pack.slug}"), list(pack.labs)
    return tuple(left.pop(chance.below(len(left))) for _ in range(min(EXAM_LABS, len(left))))


def pack_of(slug: str) -> Pack | None:
    return next((pack for pack in PACKS if pack.slug == slug), None)
