"""One message of a real cluster, by its id.  Its brokers are asked on request, since messages are not polled."""

from typing import cast

from queueviz import engine
from queueviz.clusters import cluster_resets
from sandbox.control.questions import FindMessages, ReadRecord
from sandbox.control.readings import Reading
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.message_row import MessageRow
from sandbox.queries.rows.records import OneMessage, Record
from sandbox.queries.rows.snapshot import Snapshot


def message(slug: str, snapshot: Snapshot, message_id: str) -> Reading | None:
    """Return a reading as of a sandbox's message channel: `record`, or `why` there is none.

    None: no broker answers.
    """
    try:
        rows = cast(list[MessageRow], _ask(slug, FindMessages(id=message_id))["rows"])
        record = _record(slug, rows[0]) if rows else None
    except ActionRefused as refused:
        if refused.status not in (404, 422):  # the cluster is not there, rather than the message
            return None
        rows, record = [], None
    data: OneMessage = {
        "id": message_id,
        "record": record,
        "why": None if record else {"code": "not_indexed"},
        "others": rows[1:],
    }
    return Reading(int(snapshot["seq"]), snapshot["at_ms"], snapshot["rate"], snapshot["epoch"], data)


def _record(slug: str, row: MessageRow) -> Record:
    question = ReadRecord(broker=row["broker"] or "", physical_offset=int(row["physical_offset"]))
    return cast(Record, _ask(slug, question))


def _ask(slug: str, question: FindMessages | ReadRecord) -> dict[str, object]:
    return engine.answer(engine.port().ask(slug, question), cluster_resets.PATIENCE_S)
