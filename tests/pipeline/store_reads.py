"""A broker's store in a directory, and reading it as Spark does it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from sandbox.pipeline.sources.store_stream import StoreStreamReader, asked_of
from sandbox.store.disk import FileDisk
from sandbox.store.message_store import MessageStore
from sandbox.store.reader import StoreReader
from tests.pipeline.streams import Row, Stream
from tests.unit.store.stores import Stores, message

ROW = ["store", "topic", "queueId", "queueOffset", "body"]


class Broker:
    """A broker's store in a directory, with files so small that a few messages fill one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stores = Stores(FileDisk(root))
        self.store: MessageStore = self.stores.opened()
        self.count = 0

    def put(self, number: int, *, topic: str = "orders", queue_id: int = 0) -> None:
        for _ in range(number):
            self.stores.put(self.store, message(self.count, topic=topic, queue_id=queue_id))
            self.count += 1

    def now_s(self) -> float:
        """Return the broker's time, for readers that shall see time pass as the broker does."""
        return self.stores.clock.monotonic()

    def remove_old(self) -> None:
        """Retention: every full file of the log, and the queues' files that led there."""
        self.store.cleaning.age(1_000)
        self.store.cleaning.clean(manual=True)


@contextmanager
def filled_in_turn(root: Path, queues: int, each: int) -> Iterator[Broker]:
    """A broker with `each` messages in every queue of `orders`, one a second in turn; at the end it crashes."""
    broker = Broker(root)
    for number in range(queues * each):
        broker.put(1, queue_id=number % queues)
        broker.stores.advance(1)
    yield broker
    broker.store.crash()


def written(files: dict[str, bytes], root: Path) -> Path:
    """Write the files of a store, such as those of a simulated disk; return its directory."""
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    (root / "commitlog").mkdir(exist_ok=True, parents=True)
    return root


def streaming(now_s: Callable[[], float] = monotonic, /, **options: str) -> Stream:
    """Its rows are as `told` has them."""
    return Stream(lambda: StoreStreamReader(asked_of(options), now_s), ROW)


def reported(root: Path, name: str | None = None) -> list[Row]:
    """Return the rows of the independent reader."""
    with StoreReader(root) as reader:
        return sorted(((name, m.topic, m.queue_id, m.queue_offset, m.body) for m in reader.records()), key=str)
