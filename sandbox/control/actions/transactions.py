"""End an open transaction by hand."""

from dataclasses import dataclass
from typing import Literal

from sandbox.control.fields import Name


@dataclass(frozen=True, kw_only=True)
class EndTransaction:
    """Send the broker the end of an open transaction, as its producer would."""

    verb = "act"
    transaction_id: Name
    outcome: Literal["commit", "rollback"]
