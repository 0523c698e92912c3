"""Outcomes of a transactional producer's local transactions."""

from sandbox.client.transaction_producer import LocalTransactionState
from sandbox.kernel.chance import Chance
from sandbox.message.message import Message

UNSURE_PERCENT = 10.0  # of an ordinary producer's transactions stay open until the broker checks
UNDECIDED = "undecided"
SILENT = "silent"
WAYS = ("", UNDECIDED, SILENT)

_COMMIT, _ROLLBACK, _UNKNOWN = (
    LocalTransactionState.COMMIT_MESSAGE,
    LocalTransactionState.ROLLBACK_MESSAGE,
    LocalTransactionState.UNKNOW,
)


class LocalTransactions:
    """Local transactions that commit, roll `fail_percent` back, or stay undecided until the broker checks.

    `handler` "undecided" leaves all open until then; "silent" answers UNKNOW to the check too.
    """

    def __init__(self, chance: Chance, fail_percent: float, handler: str) -> None:
        self._chance = chance
        self.fail_percent = fail_percent
        self.handler = handler

    async def execute(self, _: Message) -> LocalTransactionState:
        """Run the local transaction between the half message and its end; return its state."""
        if self.handler in (UNDECIDED, SILENT) or self._happens(UNSURE_PERCENT):
            return _UNKNOWN
        return self._outcome()

    async def check(self, _: Message) -> LocalTransactionState:
        """Return the state that answers the broker's check."""
        return _UNKNOWN if self.handler == SILENT else self._outcome()

    def _outcome(self) -> LocalTransactionState:
        return _ROLLBACK if self._happens(self.fail_percent) else _COMMIT

    def _happens(self, percent: float) -> bool:
        return self._chance.random() * 100 < percent
