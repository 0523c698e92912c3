"""The bits of a record's SYSFLAG (spec store-format 2.3).  RocketMQ: `MessageSysFlag`."""

COMPRESSED = 0x1
MULTI_TAGS = 0x2

TRANSACTION_MASK = 0x0C
TRANSACTION_NONE = 0x0
TRANSACTION_PREPARED = 0x4
TRANSACTION_COMMIT = 0x8
TRANSACTION_ROLLBACK = 0xC
OUT_OF_QUEUE = 0x4  # set in PREPARED and ROLLBACK: such a record takes no queue offset and no queue unit

BORN_HOST_V6 = 0x10
STORE_HOST_V6 = 0x20
HOSTS_V6 = BORN_HOST_V6 | STORE_HOST_V6

COMPRESSION_MASK = 0x700
COMPRESSION_LEGACY = 0x000  # zlib, from before the type had bits of its own
COMPRESSION_LZ4 = 0x100
COMPRESSION_ZSTD = 0x200
COMPRESSION_ZLIB = 0x300


def transaction(sys_flag: int) -> int:
    """Return one of the four TRANSACTION values."""
    return sys_flag & TRANSACTION_MASK
