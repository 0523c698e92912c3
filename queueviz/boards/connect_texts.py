"""Texts of the Connect page, for the template and for the browser's live updates."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.texts import Texts

PORTS: Texts = {"open": _("open"), "closed": _("closed")}
ENDS: Texts = {
    "closed": _("connection closed"),
    "expired": _("no heartbeat for too long"),
    "cut": _("cut"),
    "protocol": _("protocol error"),
}
LIMITS: Texts = {
    "connections": _("too many connections"),
    "pending_requests": _("unanswered requests"),
    "unread": _("the client does not read its responses"),
    "unfinished": _("too many unfinished frames"),
    "protocol": _("bytes that are not a frame"),
    "frame_bytes": _("a frame or a header that is too long"),
    "idle": _("no traffic for too long"),
    "tls": _("encryption failed"),
}
MEANINGS: Texts = {  # of a refusal, and what to do about it
    "connections": _("The sandbox accepts no further connections. Close unused clients."),
    "unread": _(
        "The client sends requests and does not read the responses. Its process hangs, or its network is slow."
    ),
    "unfinished": _("Frames were started and not completed. The sender is too slow, or does not send frames."),
    "protocol": _(
        "The received bytes are not a remoting frame. HTTP and RocketMQ 5 gRPC clients use other protocols. Use "
        "a 4.x client or the 5.x remoting client."
    ),
    "frame_bytes": _(
        "A frame has at most 16 MiB, its header at most 1 MiB. Send smaller messages, and fewer or shorter properties."
    ),
    "idle": _(
        "No traffic in either direction for 120 s. RocketMQ clients send heartbeats every 30 s. This client "
        "stopped, or is not a RocketMQ client."
    ),
    "tls": _("The client requested encryption, and the negotiation failed. Turn TLS off in the client."),
}
DENIALS: Texts = {
    "unsigned": _("the client does not sign requests: set the access key and the secret key in the client"),
    "unknown_key": _("the client uses the access key of another sandbox, or an old one"),
    "signature": _("the client's secret key does not match the access key"),
    "permission": _("the client's key does not permit this request"),
}
WORDS: Texts = {
    **{f"denial.{key}": text for key, text in DENIALS.items()},
    **{f"port.{key}": text for key, text in PORTS.items()},
    **{f"end.{key}": text for key, text in ENDS.items()},
    **{f"refusal.{key}": text for key, text in LIMITS.items()},
    **{f"meaning.{key}": text for key, text in MEANINGS.items()},
    "connect.copied": _("Copied"),
}


def connect_words() -> dict[str, str]:
    return {key: str(text) for key, text in WORDS.items()}
