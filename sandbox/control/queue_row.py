"""Short name of a queue within its topic."""

from sandbox.kernel.errors import ActionRefused


def row_parts(field: str, row: str) -> tuple[str, int]:
    """Split `broker-a:3` into broker and queue id.  Raises ActionRefused (422) for another form."""
    broker, mark, number = row.rpartition(":")
    if not mark or not broker or not number.isdecimal():
        raise ActionRefused(422, "{queue} is not a queue.", "Use the form broker-a:3.", field=field, queue=row)
    return broker, int(number)
