"""The server's own key pairs, with which platforms verify its messages."""

from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from pylti1p3.registration import Registration

from queueviz.access.database_limits import one_at_a_time
from queueviz.lti import sealed_secrets
from queueviz.lti.models import LtiKey
from sandbox.kernel.errors import ActionRefused

KEY_BITS = 2048  # of RS256, the one algorithm that LTI 1.3 demands


def signing() -> tuple[str, str]:
    """Return the private and public key that sign, as PEM.

    Raises ActionRefused (503) if the configured file is unusable.
    """
    return _all()[0]


def published() -> dict[str, object]:
    """Return the public keys as a JSON Web Key Set."""
    return {"keys": [dict(Registration.get_jwk(public)) for _, public in _all()]}


def _all() -> list[tuple[str, str]]:
    """Return all key pairs (private, public), the newest first; the first call makes one.

    If QUEUEVIZ_LTI_KEY_FILE is set, only that pair.
    """
    if settings.QUEUEVIZ_LTI_KEY_FILE:
        return [_of_file()]
    with one_at_a_time("lti key"):
        keys = [
            private
            for row in LtiKey.objects.order_by("-pk")
            if (private := sealed_secrets.opened(row.sealed)) is not None
        ]
        if not keys:
            keys = [_new()]
            LtiKey.objects.create(sealed=sealed_secrets.seal(keys[0]))
    return [(private, _public(private)) for private in keys]


def _of_file() -> tuple[str, str]:
    try:
        private = Path(settings.QUEUEVIZ_LTI_KEY_FILE).read_text("ascii")
        return private, _public(private)
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
