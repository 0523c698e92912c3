"""Signatures of ACL 4.x, for the identity of the sender and the integrity of the request (spec remoting 5)."""

import base64
import hashlib
import hmac

from sandbox.remoting.command import RemotingCommand

ACCESS_KEY = "AccessKey"
SECURITY_TOKEN = "SecurityToken"
SIGNATURE = "Signature"
UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"


def sign(command: RemotingCommand, access_key: str, secret_key: str, security_token: str | None = None) -> None:
    """Add the access key and the signature of all header fields and the body.  RocketMQ: `AclClientRPCHook`."""
    ext = dict(command.ext or {})
    ext.pop(SIGNATURE, None)
    ext[ACCESS_KEY] = access_key
    if security_token is not None:
        ext[SECURITY_TOKEN] = security_token
    command.ext = {**ext, SIGNATURE: signature(signed_text(ext, command.body), secret_key)}


def signed_text(ext: dict[str, str], body: bytes | None, *, without: str = SIGNATURE) -> bytes:
    """Return the bytes to sign: the values in the order of their names, then the body.

    Names are compared as Java compares them, by UTF-16.
    """
    names = sorted((name for name in ext if name not in (SIGNATURE, without)), key=_as_java)
    return "".join(ext[name] for name in names).encode("utf-8", "surrogatepass") + (body or b"")


def _as_java(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def signature(text: bytes, secret_key: str) -> str:
    return base64.b64encode(hmac.new(secret_key.encode(), text, hashlib.sha1).digest()).decode()


def is_signed(command: RemotingCommand, secret_key: str) -> bool:
    """Return True if the request's own signature is correct.

    Clients disagree whether `_UNIQUE_KEY_QUERY` is signed (4.9.8's server and client do, too); either text is accepted.
    """
    ext = command.ext or {}
    received = ext.get(SIGNATURE, "").encode("utf-8", "surrogatepass")
    texts = [signed_text(ext, command.body)]
    if UNIQUE_KEY_QUERY in ext:
        texts.append(signed_text(ext, command.body, without=UNIQUE_KEY_QUERY))
    return any(hmac.compare_digest(signature(text, secret_key).encode(), received) for text in texts)
