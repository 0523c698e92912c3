"""The keys with which external clients sign their requests (ACL 4.x)."""

from typing import NamedTuple


class Keys(NamedTuple):
    """The access keys of one account."""

    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        """Without the secret."""
        return f"Keys({self.access_key!r})"
