"""Words of the Connect page, for the template and for the moving page alike."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

PORTS: dict[str, Any] = {"open": _("open"), "closed": _("closed")}
ENDS: dict[str, Any] = {
    "closed": _("connection closed"),
    "expired": _("silent for too long"),
    "cut": _("cut"),
    "protocol": _("protocol error"),
}
LIMITS: dict[str, Any] = {
    "connections": _("too many connections"),
    "pending_requests": _("unanswered requests"),
    "unread": _("it does not read its answers"),
    "unfinished": _("too many unfinished frames"),
    "protocol": _("bytes that are no frame"),
    "frame_bytes": _("a frame or a header that is too long"),
    "idle": _("silent for too long"),
    "tls": _("encryption failed"),
}
MEANINGS: dict[str, Any] = {  # of a refusal, and what to do about it
    "connections": _("The sandbox has no room for another connection. Close a client that is no longer used."),
    "unread": _("The client asks and does not read what it is told. Its process hangs, or its network is slow."),
    "unfinished": _("Frames were begun and not finished. The sender is too slow, or sends no frames at all."),
    "protocol": _(
        "What came is no frame of the remoting protocol. HTTP, or RocketMQ 5's gRPC clients, speak another "
        "one: use a client of the 4.x line or the remoting client of 5.x."
    ),
    "frame_bytes": _(
        "A frame has at most 16 MiB, its header at most 1 MiB. Send smaller messages, and fewer or shorter properties."
    ),
    "idle": _(
        "Nothing went either way for 120 s. A client sends heartbeats every 30 s; this one had stopped, or was none."
    ),
    "tls": _("The client wanted encryption, and the two sides did not agree. Turn TLS off in the client."),
}
DENIALS: dict[str, Any] = {
    "unsigned": _("it does not sign: set the access key and the secret key in the client"),
    "unknown_key": _("it signs with another sandbox's access key, or with an old one"),
    "signature": _("its secret key is not the one that belongs to the access key"),
    "permission": _("its key does not permit this"),
}
WORDS: dict[str, Any] = {
    **{f"denial.{key}": text for key, text in DENIALS.items()},
    **{f"port.{key}": text for key, text in PORTS.items()},
    **{f"end.{key}": text for key, text in ENDS.items()},
    **{f"refusal.{key}": text for key, text in LIMITS.items()},
    **{f"meaning.{key}": text for key, text in MEANINGS.items()},
    "connect.copied": _("Copied"),
}


def connect_words() -> dict[str, str]:
    return {key: str(text) for key, text in WORDS.items()}
