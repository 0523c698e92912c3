"""`manage.py feed flights|csv|ndjson …`: send real data to a running sandbox, or to a store that no process uses."""

import argparse
from collections.abc import Callable, Iterator
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from tqdm import tqdm

from queueviz.operations import environment
from queueviz.operations.feed import MOST_ROWS_PER_S, Pace, SandboxSink, batches
from queueviz.operations.remote_sandbox import RemoteRefused, RemoteSandbox
from sandbox.cluster.actors.feeds import FeedRow, FlightsFeed, prepare_flights
from sandbox.cluster.actors.table_feed import Columns, count_lines, csv_rows, ndjson_rows
from sandbox.kernel.errors import SandboxError
from sandbox.tools.store_feed import StoreSink

FLIGHTS_SPEED = 600.0


class Options(TypedDict):
    """The options of the command, by their names."""

    feed: str
    file: NotRequired[Path]  # of csv and ndjson; likewise the columns
    key: NotRequired[str | None]
    tag: NotRequired[str | None]
    time: NotRequired[str | None]
    sandbox: str | None
    url: str
    token: str
    store: Path | None
    topic: str
    queues: int
    speed: float
    rate: float
    limit: int | None


class Command(BaseCommand):
    help = "Send each row of a table as a message: New York's flights of 2013, a CSV file, or a file of JSON lines."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        feeds = parser.add_subparsers(dest="feed", required=True, metavar="flights|csv|ndjson")
        flights = feeds.add_parser(
            "flights", help="336 776 departures in time order; gaps over 5 minutes are shortened"
        )
        _add_target(flights, topic="flights", speed=FLIGHTS_SPEED)
        for name, what in (("csv", "CSV with a header line"), ("ndjson", "one JSON object per line")):
            table = feeds.add_parser(name, help=f"a file: {what}")
            table.add_argument("file", type=Path, help=what)
            table.add_argument("--key", help="column of the message key; equal keys stay in order")
            table.add_argument("--tag", help="column of the tag")
            table.add_argument("--time", help="column of the time, ISO 8601 or seconds or milliseconds since 1970")
            _add_target(table, topic=None, speed=1.0)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            sent = self._feed(cast(Options, options))
        except (SandboxError, RemoteRefused) as refused:
            raise CommandError(str(refused)) from refused
        except KeyboardInterrupt:
            raise CommandError("Stopped.", returncode=130) from None
        self.stdout.write(f"{sent} messages sent to {options['topic']}.")

    def _feed(self, options: Options) -> int:
        rows, total = _source(options)
        if options["limit"] is not None:
            rows, total = islice(rows, options["limit"]), min(total, options["limit"])
        sink, close = _sink(options)
        sent = 0
        pace = Pace(0.0, inf) if options["store"] else Pace(options["speed"], options["rate"])
        try:
            with tqdm(total=total, unit="msg", disable=None) as bar:
                for batch in batches(rows, pace):
                    sink(batch)
                    sent += len(batch)
                    bar.update(len(batch))
        finally:
            close()
        return sent


def _add_target(parser: argparse.ArgumentParser, *, topic: str | None, speed: float) -> None:
    parser.add_argument("--topic", default=topic, required=topic is None, help="topic of the messages")
    parser.add_argument(
        "--speed", type=_positive, default=speed, help="speed, as a multiple of real time (default %(default)s)"
    )
    parser.add_argument(
        "--rate", type=_positive, default=MOST_ROWS_PER_S, help="maximum messages per second (default %(default)s)"
    )
    parser.add_argument("--limit", type=_whole, metavar="N", help="send only the first N rows")
    parser.add_argument("--sandbox", help="slug of a running sandbox")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="server of the sandbox (default %(default)s)")
    parser.add_argument(
        "--token",
        default=environment.text("QUEUEVIZ_TOKEN"),
        help="API token of the sandbox, qv_… (default: the variable QUEUEVIZ_TOKEN)",
    )
    parser.add_argument("--store", type=Path, help="write into this store directory instead; no broker may use it")
    parser.add_argument(
        "--queues", type=_whole, default=8, help="with --store: number of queues of the topic (default %(default)s)"
    )


def _source(options: Options) -> tuple[Iterator[FeedRow], int]:
    if options["feed"] == "flights":
        table = prepare_flights(Path(settings.QUEUEVIZ_HOME))
        total = count_lines(table)
        return islice(FlightsFeed(table).rows(), total), total  # the feed itself goes round and round
    columns = Columns(options["key"], options["tag"], options["time"])
    is_csv = options["feed"] == "csv"
    read = csv_rows if is_csv else ndjson_rows
    return read(options["file"], columns), max(0, count_lines(options["file"]) - is_csv)


def _sink(options: Options) -> tuple[Callable[[list[FeedRow]], None], Callable[[], None]]:
    if bool(options["sandbox"]) == bool(options["store"]):
        raise CommandError("Choose one target: --sandbox SLUG --url URL --token TOKEN, or --store DIR.")
    if options["store"]:
        store = StoreSink(options["store"], options["topic"], queues=options["queues"])
        return store.send, store.close
    sandbox = RemoteSandbox(options["url"], options["sandbox"] or "", options["token"])
    try:
        return SandboxSink(sandbox, options["topic"]).send, sandbox.close
    except BaseException:
        sandbox.close()
        raise


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is not a number greater than 0")
    return value


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)
