"""Readers of environment variables, which `settings` reads once.  Every default is safe on one machine."""

import ipaddress
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import dj_database_url

SECRET_FILE = "secret_key"


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def switch(name: str, *, default: bool = False) -> bool:
    value = text(name).lower()
    if not value:
        return default
    return value in ("1", "true", "yes", "on")


def number(name: str, default: int, low: int, high: int) -> int:
    """Return the variable as a number; exit with a sentence if it is not one from `low` to `high`."""
    try:
        value = int(text(name, str(default)))
    except ValueError:
        raise SystemExit(f"{name} is not a number.") from None
    if not low <= value <= high:
        raise SystemExit(f"{name} is {value}. Choose a number from {low} to {high}.")
    return value


def ip(name: str, default: str) -> str:
    """Return the variable as an IPv4 address; exit with a sentence if it is none.

    Stored messages have only four bytes for an address.
    """
    value = text(name, default)
    try:
        return str(ipaddress.IPv4Address(value))
    except ValueError:
        raise SystemExit(f"{name} is not an IP address such as 192.168.1.5.") from None


def names(name: str, default: str = "") -> list[str]:
    """Return the variable as a list of its comma-separated parts."""
    return [part.strip() for part in text(name, default).split(",") if part.strip()]


def directory(name: str, default: Path) -> Path:
    """Return the variable as a directory, created if it is missing; exit with a sentence if that fails."""
    path = Path(text(name, str(default))).resolve()
    make(path, name)
    return path


def reason(error: OSError) -> str:
    return str(error.strerror or error).lower()


def make(path: Path, name: str = "QUEUEVIZ_HOME") -> None:
    """Create the directory if it is missing.  If that fails, exit with a sentence that names the variable `name`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemExit(f"{name}: {path} cannot be a directory: {reason(error)}. Choose another directory.") from None


def database(name: str, default: str) -> dict[str, Any]:
    """Return Django's settings for a database URL; an invalid one ends the process with a sentence."""
    try:
        return dict(dj_database_url.parse(text(name, default)))
    except (ValueError, KeyError):  # the URL may hold a password: it is not shown
        raise SystemExit(f"{name} is not a database URL. Example: postgres://user:password@host:5432/name.") from None


def kept_secret(home: Path) -> str:
    """Return the secret of this data home.  The first start creates it in a file that only the owner can read.

    Sessions and signed links survive a restart, and no two data homes share a key.  The process exits with a
    sentence if the file cannot be read or written.
    """
    path = home / SECRET_FILE
    try:
        home.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            _write_new(path, secrets.token_urlsafe(48))
        return path.read_text().strip()
    except OSError as error:
        raise SystemExit(
            f"{path} cannot be written: {reason(error)}. Check free space and permissions, or set "
            "QUEUEVIZ_HOME to another data home."
        ) from None


def _write_new(path: Path, key: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, key.encode())
    except OSError:
        path.unlink()  # an empty one would be taken for the secret from then on
        raise
    finally:
        os.close(descriptor)
