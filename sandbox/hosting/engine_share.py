"""One of several engines over one data home."""

from typing import NamedTuple


class Share(NamedTuple):
    """`slugs`: the sandboxes that are there when it starts and are served by it; of others only the ports count.

    Who starts the engines holds the data home's lock, gives each sandbox to one of them, and each engine ports of its
    own.
    """

    number: int
    slugs: frozenset[str]
