"""Secrets that must not be readable in the database: keyed digests, and texts encrypted with the server's secret."""

import base64
import hashlib
import hmac

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


def keyed(purpose: str, *parts: object) -> str:
    """Return HMAC-SHA256 of the parts, in hex.

    The length of each part is included, so that no two lists give the same text.
    """
    text = "".join(f"{len(str(part))}:{part}" for part in (purpose, *parts))
    return hmac.new(_key("digest"), text.encode(), hashlib.sha256).hexdigest()


def seal(text: str) -> str:
    return _box().encrypt(text.encode()).decode()


def opened(sealed: str) -> str | None:
    """Return the decrypted text, or None if it was encrypted with another secret."""
    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken:
        return None


def _box() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(_key("seal")))


def _key(purpose: str) -> bytes:
    return hmac.new(settings.SECRET_KEY.encode(), f"queueviz.lti.{purpose}".encode(), hashlib.sha256).digest()
