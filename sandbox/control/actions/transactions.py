"""Ending by hand what a transactional producer left open."""

from dataclasses import dataclass
from typing import Literal

from sandbox.control.fields import Name


@dataclass(frozen=True, kw_only=True)
class EndTransaction:
    """Tell the broker how an open transaction ended, as its producer would."""

    verb = "act"
    transaction_id: Name
    outcome: Literal["commit", "rollback"]
