"""A RocketMQ-compatible broker, name server and clients in plain Python, and the hosting around them.

Nothing in this package knows the web.  Floors and what may import what: docs/architecture.md.  In a notebook:
`from sandbox import Sandbox` (docs/notebook.md).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.hosting.notebook import QueueView, Sandbox

__all__ = ["QueueView", "Sandbox"]


def __getattr__(name: str) -> Any:
    """Looked up when asked for: who needs one floor does not load those above it."""
    if name not in __all__:
        raise AttributeError(f"module 'sandbox' has no attribute {name!r}")
    from sandbox.hosting import notebook

    return getattr(notebook, name)
