"""The accounts of `manage.py broker`: a file in the format of Apache's `plain_acl.yml` (spec remoting 5)."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from sandbox.broker.acl_config import MAX_ACCOUNTS, AclConfig, AclError, Rules, white_address
from sandbox.kernel.clock import Clock
from sandbox.tools.broker_plan import CannotStart

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 1 << 20
LOOK_S = 5.0  # RocketMQ: FileWatchService


class AccountsFile:
    """An accounts file that is read again when it has changed.

    While it cannot be read, the accounts stay as they were.
    """

    def __init__(self, path: Path, clock: Clock, changed: Callable[[AclConfig], None]) -> None:
        self._path = path
        self._clock = clock
        self._changed = changed
        self._seen = self._state()
        self._timer = clock.call_later(LOOK_S, self._look)

    def close(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        self._timer = self._clock.call_later(LOOK_S, self._look)
        now = self._state()
        if now == self._seen:
            return
        self._seen = now
        try:
            self._changed(read_accounts(self._path))
        except CannotStart as error:
            log.error("%s The accounts are unchanged.", error)
        else:
            log.info("reloaded the accounts %s", self._path)

    def _state(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size


def read_accounts(path: Path) -> AclConfig:
    """Return the accounts in the file.  Raises CannotStart with the error, never with a secret in it."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CannotStart(
            f"The accounts file {path} cannot be read: {(error.strerror or str(error)).lower()}."
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise CannotStart(f"The accounts file {path} is larger than {MAX_FILE_BYTES} bytes.")
    try:
        accounts: Any = yaml.safe_load(data)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise CannotStart(f"The accounts file {path} is not valid YAML{where}.") from None
    try:
        return _checked(accounts)
    except AclError as error:
        raise CannotStart(f"The accounts file {path} does not have the format of plain_acl.yml: {error}.") from None


def _checked(plain: Any) -> AclConfig:
    if not isinstance(plain, Mapping):
        raise AclError("it is not a mapping with accounts and globalWhiteRemoteAddresses")
    accounts, white = plain.get("accounts") or [], plain.get("globalWhiteRemoteAddresses") or []
    if not isinstance(accounts, list) or not all(isinstance(row, Mapping) for row in accounts):
        raise AclError("accounts is not a list of mappings")
    if not isinstance(white, list) or not all(isinstance(text, str) for text in white):
        raise AclError("globalWhiteRemoteAddresses is not a list of strings")
    if len(accounts) > MAX_ACCOUNTS:
        raise AclError(f"it has more than {MAX_ACCOUNTS} accounts")
    for number, row in enumerate(accounts, 1):
        for key in ("topicPerms", "groupPerms"):
            if not isinstance(row.get(key) or [], list):
                raise AclError(f"{key} of account {number} is not a list")
    config = AclConfig.from_plain(plain)
    for account in config.accounts:
        Rules.of(account)
    for text in config.global_white_addresses:
        white_address(text)
    return config
