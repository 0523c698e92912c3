"""Limits of request bodies read as JSON: the sender chooses the length, and reading blocks the event loop."""

from collections.abc import Callable
from typing import TypeVar

from sandbox.kernel import json_bytes
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import Malformed

MAX_BODY_BYTES = 512 * 1024  # of a request that carries no message
MAX_REGISTRATION_BYTES = 4 * 1024 * 1024  # of a broker's topics, some 25 000 of them
MAX_LOOSE_BYTES = 64 * 1024  # loose JSON is read character by character; no client sends more of it

UNREAD = frozenset(
    {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
    }
)
"""Their bodies are messages, which have a limit of their own, or are not read."""

Answer = TypeVar("Answer")
Handler = Callable[[RemotingCommand, Channel], Answer]


def check_body(body: bytes | None, most: int = MAX_BODY_BYTES) -> None:
    """Raise Malformed if the body takes too long to read."""
    if body is None or len(body) <= MAX_LOOSE_BYTES:
        return
    if len(body) > most:
        raise Malformed(f"a body of {len(body)} bytes, where at most {most} are read")
    if body[:1] in b"{[ \t\r\n":
        try:
            json_bytes.loads(body)
        except json_bytes.JSONDecodeError as error:
            raise Malformed(f"a body of {len(body)} bytes is read as strict JSON only: {error}") from None


def limited(handlers: dict[int, Handler[Answer]]) -> dict[int, Handler[Answer]]:
    """Return the same handlers, but those that read a body refuse one that is too long."""
    return {code: handler if code in UNREAD else _limited(code, handler) for code, handler in handlers.items()}


def _limited(code: int, handler: Handler[Answer]) -> Handler[Answer]:
    most = MAX_REGISTRATION_BYTES if code == RequestCode.REGISTER_BROKER else MAX_BODY_BYTES

    def checked(c: RemotingCommand, channel: Channel) -> Answer:
        if c.body is not None and len(c.body) > MAX_LOOSE_BYTES:
            check_body(c.body, most)
        return handler(c, channel)

    return checked
