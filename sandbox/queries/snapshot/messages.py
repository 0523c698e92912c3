"""Messages as they arrive, and one of them (channel `messages/<slug>?…`)."""

from typing import Any
from urllib.parse import parse_qs

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import ReadRecord
from sandbox.queries.message_tail import Wanted
from sandbox.queries.questions.messages import read_record
from sandbox.queries.questions.search import by_id, why_not
from sandbox.queries.rows.messages import message_row
from sandbox.queries.snapshot_cache import cache_of

Row = dict[str, Any]

ID_CHARS = 255
OTHERS = 20  # further messages of one id, named


def read_messages(cluster: Cluster, query: str) -> Row:
    """`?topic=&queue=&tag=&key=` follows what arrives, `?id=` shows one message.

    Following: {"wanted": {"topic", "queue", "tag", "key"} (an empty text lets everything through), "seen": how many
    fitted since the first look, "rest": of them not shown, for more than 20 came in a second, "unseen": came too
    fast to be looked at, "rows": {number: `message_rows.message_row`}}; numbers rise in the order of arrival, and the
    newest 100 are there.  Tags must be equal, of the keys a part is enough.

    One message: {"id", "record": `ask.messages.read_record`, or None, "others": further messages of a unique key
    (`message_row`), "why": None, or `ask.search.why_not` where there is none}.  Attached clusters answer the same: what
    their brokers do not report is None.
    """
    asked = parse_qs(query).get("id")
    if asked:
        return _one(cluster, asked[0].strip()[:ID_CHARS])
    tail = cache_of(cluster).tails.of(Wanted.of(query))
    tail.read(cluster)
    return {
        "wanted": tail.wanted._asdict(),
        "seen": tail.seen,
        "rest": tail.rest,
        "unseen": tail.unseen,
        "rows": {str(number): row for number, row in tail.rows},
    }


def _one(cluster: Cluster, asked: str) -> Row:
    """Return the record with this id; of a unique key the record stored first, as copies for retries come later."""
    matches = by_id(cluster, asked)
    if not matches:
        return {"id": asked, "record": None, "others": [], "why": why_not(cluster, asked)}
    first = matches[0]
    record = read_record(cluster, ReadRecord(broker=first.broker, physical_offset=first.message.physical_offset))
    return {
        "id": asked,
        "record": record,
        "others": [message_row(other.message, other.broker) for other in matches[1 : OTHERS + 1]],
        "why": None,
    }
