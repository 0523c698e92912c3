"""Store directories change hands: what one broker wrote another serves, and writes on.  Judged by bytes and frames.

Each test is a chain of brokers on one directory.  The files are compared with a reader that shares no line with the
product, and what a broker answers with those files and with what the broker before it answered.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.golden.independent_reader import Record
from tests.interop.building import Unavailable
from tests.interop.exchange_stage import (
    COMMIT,
    DEAD,
    DELAYED,
    LATER,
    PAID,
    PAYERS,
    PLAIN,
    RETRY,
    SMALL,
    Served,
    Writer,
    heartbeat,
    read,
    records_of,
    served,
    stored_offsets,
    until,
)
from tests.interop.servers import APACHE_4, APACHE_5, Server, apache_server, log_records, our_server
from tests.interop.wire_line import Line, line_to

CHECK = 39
FEW = 20  # a query brings 64 at most, and after a kill a key may be in the index twice
Broker = Callable[[Path], AbstractContextManager[Server]]


class Host(NamedTuple):
    name: str
    start: Broker


def apache(release: str) -> Host:
    @contextmanager
    def start(root: Path) -> Iterator[Server]:
        try:
            made = apache_server(release, store=root, properties=SMALL)
            server = made.__enter__()
        except Unavailable as why:
            pytest.skip(f"apache-{release}: {why}")
        try:
            yield server
        finally:
            made.__exit__(None, None, None)

    return Host(f"apache-{release}", start)


OURS = Host("ours", lambda root: our_server(store=root, properties=SMALL))


@pytest.mark.apache
@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
@pytest.mark.parametrize("release", [APACHE_4, APACHE_5])
@pytest.mark.parametrize("first", ["ours", "apache"])
def test_a_store_changes_hands_and_back(first: str, release: str, killed: bool, tmp_path: Path) -> None:
    theirs = apache(release)
    chain = [OURS, theirs, OURS] if first == "ours" else [theirs, OURS, theirs]
    root = tmp_path / "store"
    before: Served | None = None
    all_indexed = True
    for number, host in enumerate(chain):
        part = f"{host.name}-{number}".replace(".", "-")
        with host.start(root) as server, line_to(server.broker) as line:
            if before is not None:
                keeps_index = not killed or host is OURS
                all_indexed = all_indexed and keeps_index
                compare(before, served(line, root), killed=killed, keeps_index=keeps_index)
                goes_on(line, root, f"{part}-heir", killed=killed)
            agrees_with_the_files(line, root, killed=killed, all_indexed=all_indexed)
            Writer(line, part).write_all()
            before = agrees_with_the_files(line, root, killed=killed, all_indexed=all_indexed)
            if killed:
                until(lambda: (root / "config/consumerOffset.json").exists())
                os.kill(server.pid, signal.SIGKILL)
        if killed:
            before = before._replace(offsets=stored_offsets(root))
        else:
            assert wrong_with(root) == []
    assert all(len(list((root / kind).iterdir())) > 1 for kind in ("commitlog", "index", f"consumequeue/{PLAIN}/0"))


def compare(before: Served, after: Served, *, killed: bool, keeps_index: bool) -> None:
    """Nothing is lost and nothing has another place; delayed messages may have come in the meantime.

    Apache's broker deletes the last index file after a kill and dispatches again from a log file that may begin later
    than that file did (spec store-format: `messageIndexSafe` is false): keys of the time between are lost to it.
    """
    for queue, records in before.records.items():
        assert after.records[queue][: len(records)] == records, queue
        assert after.ends[queue][0] == before.ends[queue][0], queue
        assert after.ends[queue][1] >= before.ends[queue][1], queue
    for key, places in before.keys.items():
        again = after.keys[key]
        if len(places) <= FEW and keeps_index:
            assert set(again) >= set(places) if killed else again[: len(places)] == places, key
    for group, offsets in before.offsets.items():
        if group.endswith("@CID_RMQ_SYS_TRANS"):  # the broker's own reader of halves, which is at work
            assert all(after.offsets[group][queue] >= offset for queue, offset in offsets.items()), group
        else:
            assert after.offsets[group] == offsets, group


def agrees_with_the_files(line: Line, root: Path, *, killed: bool, all_indexed: bool = True) -> Served:
    """Every record of the log comes by its queue and offset, by each of its keys and by its place."""
    kept = list(log_records(root / "commitlog"))
    seen = served(line, root)
    for (topic, queue_id), records in seen.records.items():
        mine = [record for record in kept if (record.topic, record.queue_id) == (topic, queue_id) and record.in_queue]
        assert records[: len(mine)] == [record.raw for record in mine], (topic, queue_id)
        assert [record.queue_offset for record in mine] == list(range(len(mine)))
        low, high = seen.ends[topic, queue_id]  # asked for first; a delayed message may have come since
        assert low == 0
        assert high <= len(records)
        assert len(mine) <= len(records)
    wanted: dict[tuple[str, str], list[int]] = {}
    for record in kept:
        for key in record.keys:
            wanted.setdefault((record.topic, key), []).append(record.at)
    for key, places in wanted.items():
        reported = seen.keys[key]
        if len(places) <= FEW and all_indexed:
            assert set(reported) >= set(places) if killed else reported[: len(places)] == places, (
                key,
                reported,
                places,
            )
    for record in kept:
        assert line.ask(33, {"offset": record.at, "topic": record.topic}).body == record.raw
    return seen


def goes_on(line: Line, root: Path, client_id: str, *, killed: bool) -> None:
    """Check that the broker finishes the predecessor's work: due messages arrive, open transactions are checked."""
    halves = [record for record in log_records(root / "commitlog") if record.topic == "RMQ_SYS_TRANS_HALF_TOPIC"]
    open_bodies = {record.body for record in halves if record.body.endswith(b"None")}
    paid = {record.body for record in log_records(root / "commitlog") if record.topic == PAID}
    wanted = {body for body in open_bodies if body not in paid}
    heartbeat(line, client_id)
    while wanted:
        asked = line.hear(CHECK)
        half = Record(asked.body, 0)
        assert (half.topic, half.properties["PGROUP"]) == (PAID, PAYERS)
        line.send_one_way(
            37,
            {
                "producerGroup": PAYERS,
                "tranStateTableOffset": asked.ext["tranStateTableOffset"],
                "commitLogOffset": asked.ext["commitLogOffset"],
                "commitOrRollback": COMMIT,
                "fromTransactionCheck": "true",
                "msgId": asked.ext["msgId"],
                "transactionId": asked.ext["transactionId"],
            },
        )
        wanted.discard(half.body)
    until(lambda: {Record(raw, 0).body for raw in records_of(line, PAID, 2)} >= open_bodies)
    due = [record for record in log_records(root / "commitlog") if record.topic == DELAYED and record.queue_id < 2]
    until(lambda: arrived(root) >= len(due))
    assert killed or arrived(root) == len(due)  # who was killed may not have noted what it had delivered
    assert {record.body for record in log_records(root / "commitlog") if record.topic == DEAD}
    assert all(
        record.properties["RETRY_TOPIC"] == PLAIN for record in log_records(root / "commitlog") if record.topic == RETRY
    )


def arrived(root: Path) -> int:
    """Delayed messages of the two first levels that came where they belong."""
    return sum(
        record.topic in (LATER, RETRY) and record.properties.get("DELAY") in ("1", "2")
        for record in log_records(root / "commitlog")
    )


def wrong_with(root: Path) -> list[str]:
    """Apache 5 ends a record's properties in a separator, which 4.9 and ours do not."""
    return [problem for problem in read(root).problems if "end in a separator" not in problem]
