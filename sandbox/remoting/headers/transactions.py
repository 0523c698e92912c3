"""Headers for transactions: their end, and the broker's question about their state."""

from typing import NamedTuple, Self

from sandbox.remoting.fields import Ext, int32, int64, is_true, text, text_or_none, written


class EndTransactionHeader(NamedTuple):
    """The header of END_TRANSACTION (37).  `decision`: 8 commit, 12 roll back, 0 unknown."""

    group: str
    half_queue_offset: int
    physical_offset: int
    decision: int
    from_check: bool
    msg_id: str
    transaction_id: str | None = None
    broker: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "producerGroup"),
            int64(ext, "tranStateTableOffset"),
            int64(ext, "commitLogOffset"),
            int32(ext, "commitOrRollback"),
            is_true(ext, "fromTransactionCheck"),
            text_or_none(ext, "msgId") or "",
            text_or_none(ext, "transactionId"),
            text_or_none(ext, "bname"),
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            producerGroup=self.group,
            tranStateTableOffset=self.half_queue_offset,
            commitLogOffset=self.physical_offset,
            commitOrRollback=self.decision,
            fromTransactionCheck=self.from_check,
            msgId=self.msg_id,
            transactionId=self.transaction_id,
            bname=self.broker,
        )


class CheckTransactionHeader(NamedTuple):
    """The header of 39, a request for a transaction's state.  The offsets are the half message's present ones."""

    half_queue_offset: int
    physical_offset: int
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None
    broker: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            int64(ext, "tranStateTableOffset"),
            int64(ext, "commitLogOffset"),
            text_or_none(ext, "msgId"),
            text_or_none(ext, "transactionId"),
            text_or_none(ext, "offsetMsgId"),
            text_or_none(ext, "bname"),
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            tranStateTableOffset=self.half_queue_offset,
            commitLogOffset=self.physical_offset,
            msgId=self.msg_id,
            transactionId=self.transaction_id,
            offsetMsgId=self.offset_msg_id,
            bname=self.broker,
        )
