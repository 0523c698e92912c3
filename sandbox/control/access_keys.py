"""Keys with which external clients sign their requests (ACL 4.x)."""

from typing import NamedTuple


class Keys(NamedTuple):
    """Access key and secret key of one account."""

    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        """Return a text without the secret key."""
        return f"Keys({self.access_key!r})"
