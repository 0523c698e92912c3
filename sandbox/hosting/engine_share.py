"""Share of one engine, if several engines use one data home."""

from typing import NamedTuple


class Share(NamedTuple):
    """Number of an engine, and the sandboxes that it serves from the start; of others only the ports count.

    The process that starts the engines holds the data home's lock, assigns each sandbox to one of them, and gives
    each engine its own ports.
    """

    number: int
    slugs: frozenset[str]
