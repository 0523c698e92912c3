"""Labs that belong together, in the order in which they are done."""

from typing import NamedTuple

from sandbox.labs.catalogue import named
from sandbox.labs.lab import Lab
from sandbox.labs.marking import _


class Pack(NamedTuple):
    """`numbers`: of its labs."""

    title: str
    numbers: tuple[str, ...]

    @property
    def labs(self) -> tuple[Lab, ...]:
        return tuple(lab for number in self.numbers if (lab := named(number)) is not None)


PACKS = (
    Pack(_("First hour"), ("N0", "3", "2", "4")),
    Pack(_("At least once"), ("N5", "N2", "N4", "N1")),
    Pack(_("Operations"), ("1", "13", "5", "6", "8", "N9")),
    Pack(_("Store and index"), ("10", "9", "14")),
)
