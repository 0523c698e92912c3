"""Messages as they arrive, and one message (channel `messages/<slug>?…`)."""

from urllib.parse import parse_qs

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import ReadRecord
from sandbox.queries.message_tail import Wanted
from sandbox.queries.questions.messages import read_record
from sandbox.queries.questions.search import by_id, why_not
from sandbox.queries.rows.messages import message_row
from sandbox.queries.snapshot_cache import cache_of

Row = dict[str, object]

ID_CHARS = 255
OTHERS = 20  # further messages of one id, named


def read_messages(cluster: Cluster, query: str) -> Row:
    """Return the value of the channel: `?topic=&queue=&tag=&key=` follows arriving messages, `?id=` is one message.

    Following: {"wanted": {"topic", "queue", "tag", "key"} (an empty text matches everything), "seen": matches since
    the first reading, "rest": matches that were not shown, because more than 20 came in a second, "unseen": messages
    that came too fast to be read, "rows": {number: `rows.messages.message_row`}}.  Numbers rise in the order of
    arrival; the newest 100 rows are included.  Tags must be equal; a part of KEYS is enough.

    One message: {"id", "record": `questions.messages.read_record`, or None, "others": further messages with a unique
    key (`message_row`), "why": None, or `questions.search.why_not` without a record}.  Attached clusters have the
    same fields; None where their brokers do not report a value.
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
    """Return the record with this id; for a unique key the record stored first, as copies for retries come later."""
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
