"""Accounts and permissions of a broker, as values of `plain_acl.yml` (spec remoting 5)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sandbox.broker.acl_addresses import Matches, address_pattern
from sandbox.message import topic_names as names

DENY, ANY, PUB, SUB = 1, 2, 4, 8  # RocketMQ: `Permission`
_WORDS = {"PUB": PUB, "SUB": SUB, "PUB|SUB": PUB | SUB, "SUB|PUB": PUB | SUB, "DENY": DENY}

MIN_KEY_CHARS = 7  # of both keys
MAX_KEY_CHARS = 1_024
MAX_ACCOUNTS = 1_024
MAX_PERMISSIONS = 1_024  # of one account: topics and groups together
MAX_WHITE_ADDRESSES = 1_024


class AclError(ValueError):
    """Configuration error with RocketMQ's own message."""


class Account(NamedTuple):
    """Account of a client.  Permissions are texts such as `T1=PUB|SUB`.  RocketMQ: `PlainAccessConfig`."""

    access_key: str
    secret_key: str
    white_remote_address: str = ""
    admin: bool = False
    default_topic_perm: str = ""
    default_group_perm: str = ""
    topic_perms: tuple[str, ...] = ()
    group_perms: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return a text without the secret key."""
        return f"Account({self.access_key!r}, admin={self.admin})"

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> "Account":
        """Create an account from RocketMQ's field names; a missing value is empty."""

        def text(key: str) -> str:
            return str(value.get(key) or "")

        def texts(key: str) -> tuple[str, ...]:
            return tuple(map(str, value.get(key) or ()))

        return cls(
            text("accessKey"),
            text("secretKey"),
            text("whiteRemoteAddress"),
            value.get("admin") is True,
            text("defaultTopicPerm"),
            text("defaultGroupPerm"),
            texts("topicPerms"),
            texts("groupPerms"),
        )


class AclConfig(NamedTuple):
    """Content of `plain_acl.yml`.  Without accounts only white addresses are allowed to do anything."""

    accounts: tuple[Account, ...] = ()
    global_white_addresses: tuple[str, ...] = ()

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> "AclConfig":
        """Create the configuration from the file's content as a map."""
        return cls(
            tuple(Account.from_plain(row) for row in value.get("accounts") or ()),
            tuple(map(str, value.get("globalWhiteRemoteAddresses") or ())),
        )


class Rules(NamedTuple):
    """Account prepared for checks.  `permissions` names a group by its retry topic."""

    account: Account
    is_white: Matches
    permissions: dict[str, int]
    default_topic: int
    default_group: int

    @classmethod
    def of(cls, account: Account) -> "Rules":
        """Prepare an account.  Raises AclError if its keys, permissions or address pattern are invalid."""
        for key in (account.access_key, account.secret_key):
            if not MIN_KEY_CHARS <= len(key) <= MAX_KEY_CHARS:
                raise AclError(
                    f"The accessKey={account.access_key} and its secretKey cannot be null and length should "
                    f"longer than 6 (and at most {MAX_KEY_CHARS})"
                )
        if len(account.topic_perms) + len(account.group_perms) > MAX_PERMISSIONS:
            raise AclError(f"an account has at most {MAX_PERMISSIONS} permissions")
        permissions = dict(map(_resource, account.topic_perms))
        permissions |= {names.retry_topic(name): bits for name, bits in map(_resource, account.group_perms)}
        return cls(
            account,
            white_address(account.white_remote_address),
            permissions,
            bits_of(account.default_topic_perm),
            bits_of(account.default_group_perm),
        )

    def may(self, resource: str, needed: int) -> bool:
        """Return True if the account has the needed permission on a topic or retry topic.

        RocketMQ: `checkPerm`, `Permission.checkPermission`.
        """
        default = self.default_group if resource.startswith(names.RETRY_PREFIX) else self.default_topic
        owned = self.permissions.get(resource, default)
        return not owned & DENY and bool(needed & owned)


def bits_of(word: str) -> int:
    """Return the bits of a permission word; a missing or unknown word denies."""
    return _WORDS.get(word.strip(), DENY)


def white_address(text: str) -> Matches:
    """Return the matcher of a white address pattern.  Raises AclError if the pattern is invalid."""
    try:
        return address_pattern(text)
    except ValueError:
        raise AclError(f"Netaddress examine Exception netaddress is {text}") from None


def _resource(text: str) -> tuple[str, int]:
    parts = [part for part in text.split("=") if part]
    if len(parts) != 2:
        raise AclError(
            f"Parse Resource format error for {text}.\n"
            "The expected resource format is 'Res=Perm'. For example: topicA=SUB"
        )
    name, word = parts[0].strip(), parts[1].strip()
    if word not in _WORDS:
        raise AclError(
            f"Parse resource permission error for {text}.\n"
            "The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'."
        )
    return name, bits_of(word)
