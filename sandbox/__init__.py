"""A RocketMQ-compatible broker, name server and clients in plain Python, and their hosting.

This package does not depend on the web application.  Packages and their allowed imports: docs/architecture.md.  In a
notebook: `from sandbox import Sandbox`, and for a remote cluster `connect` (docs/notebook.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.message.message import Message
    from sandbox.notebook.build import QueueView, Sandbox
    from sandbox.notebook.remote import connect

__all__ = ["Message", "QueueView", "Sandbox", "connect"]

_WHERE = {
    "Message": "sandbox.message.message",
    "QueueView": "sandbox.notebook.build",
    "Sandbox": "sandbox.notebook.build",
    "connect": "sandbox.notebook.remote",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that a lower package does not load those above it."""
    if name not in _WHERE:
        raise AttributeError(f"module 'sandbox' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
