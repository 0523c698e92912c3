"""One message of a real cluster, by its id: read from its brokers on request, since messages are not polled."""

from collections.abc import Mapping
from typing import Any

from queueviz import engine
from queueviz.clusters import cluster_resets
from sandbox.control.questions import FindMessages, ReadRecord
from sandbox.control.readings import Reading
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.snapshot import Snapshot


def message(slug: str, snapshot: Snapshot, message_id: str) -> Reading | None:
    """Return a reading as of a sandbox's message channel: `record`, or `why` there is none.

    None: no broker answers.
    """
    try:
        rows = _ask(slug, FindMessages(id=message_id))["rows"]
        record = _record(slug, rows[0]) if rows else None
    except ActionRefused as refused:
        if refused.status not in (404, 422):  # the cluster is not there, rather than the message
            return None
        rows, record = [], None
    data = {"record": record, "why": None if record else {"code": "not_indexed"}, "others": rows[1:]}
    return Reading(int(snapshot["seq"]), snapshot["at_ms"], snapshot["rate"], snapshot["epoch"], data)


def _record(slug: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return _ask(slug, ReadRecord(broker=row["broker"], physical_offset=int(row["physical_offset"])))


def _ask(slug: str, question: FindMessages | ReadRecord) -> dict[str, Any]:
    return engine.answer(engine.port().ask(slug, question), cluster_resets.PATIENCE_S)
