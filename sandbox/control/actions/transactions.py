"""Action that ends an open transaction by hand."""

from dataclasses import dataclass
from typing import Literal

from sandbox.control.actions.action import Action
from sandbox.control.fields import Name


@dataclass(frozen=True, kw_only=True)
class EndTransaction(Action):
    """End an open transaction with the request that its producer would send."""

    verb = "act"
    said = {
        "outcome=commit": "transaction {transaction_id} committed",
        "outcome=rollback": "transaction {transaction_id} rolled back",
        "": "transaction {transaction_id} ended",
    }
    transaction_id: Name
    outcome: Literal["commit", "rollback"]
