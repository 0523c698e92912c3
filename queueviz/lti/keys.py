"""The server's own key pairs, with which platforms verify its messages."""

import re
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.utils.timezone import now
from pylti1p3.registration import Registration

from queueviz.access.database_limits import one_at_a_time
from queueviz.lti import sealed_secrets
from queueviz.lti.models import LtiKey
from sandbox.kernel.errors import ActionRefused

KEY_BITS = 2048  # of RS256, the one algorithm that LTI 1.3 demands
_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n?", re.S)


def signing() -> tuple[str, str]:
    """Return the private and public key that sign, as PEM.

    Raises ActionRefused (503) if the configured file is unusable.
    """
    return _all()[0]


def published() -> dict[str, object]:
    """Return the public keys as a JSON Web Key Set."""
    return {"keys": [dict(Registration.get_jwk(public)) for _, public in _all()]}


def rotate(overlap: timedelta) -> datetime:
    """Make a new key, which signs from now on; return until when the previous one is published.

    Raises ActionRefused (409) if the keys are those of a file.
    """
    if settings.QUEUEVIZ_LTI_KEY_FILE:
        raise ActionRefused(
            409,
            "The LTI keys are those of QUEUEVIZ_LTI_KEY_FILE.",
            "Write a new key before the old one into this file.",
        )
    with one_at_a_time("lti key"):
        ends_at = now() + overlap
        LtiKey.objects.filter(ends_at__isnull=True).update(ends_at=ends_at)
        LtiKey.objects.create(sealed=sealed_secrets.seal(_new()))
    return ends_at


def listed() -> list[tuple[str, datetime | None]]:
    """Return the id of each published key, the signing one first, and until when it is published."""
    return [(str(Registration.get_jwk(public)["kid"]), ends_at) for (_, public), ends_at in _with_ends()]


def _all() -> list[tuple[str, str]]:
    return [pair for pair, _ in _with_ends()]


def _with_ends() -> list[tuple[tuple[str, str], datetime | None]]:
    """Return all key pairs (private, public), the newest first, and their ends; the first call makes one.

    Keys past their end are deleted.  If QUEUEVIZ_LTI_KEY_FILE is set, only its pairs.
    """
    if settings.QUEUEVIZ_LTI_KEY_FILE:
        return [(pair, None) for pair in _of_file()]
    with one_at_a_time("lti key"):
        LtiKey.objects.filter(ends_at__lte=now()).delete()
        keys = [
            (private, row.ends_at)
            for row in LtiKey.objects.order_by("-pk")
            if (private := sealed_secrets.opened(row.sealed)) is not None
        ]
        if not keys:
            keys = [(_new(), None)]
            LtiKey.objects.create(sealed=sealed_secrets.seal(keys[0][0]))
    return [((private, _public(private)), ends_at) for private, ends_at in keys]


def _of_file() -> list[tuple[str, str]]:
    """Return the key pairs of the file, in its order: the first one signs."""
    try:
        text = Path(settings.QUEUEVIZ_LTI_KEY_FILE).read_text("ascii")
        return [(part[0], _public(part[0])) for part in _PEM.finditer(text)] or [(text, _public(text))]
    except (OSError, ValueError, TypeError):
        raise ActionRefused(
            503,
            "The LTI key cannot be used.",
            "QUEUEVIZ_LTI_KEY_FILE must name the PEM file of an RSA key without a password.",
        ) from None


def _new() -> str:
    made = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    return made.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


@lru_cache(maxsize=8)  # to read a private key takes a tenth of a second, and each launch asks for it
def _public(private: str) -> str:
    key = serialization.load_pem_private_key(private.encode(), None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("no RSA key")
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )
