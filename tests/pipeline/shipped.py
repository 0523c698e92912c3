"""`python -m tests.pipeline.shipped MASTER`: prints where each executor has the engine's code from, as JSON."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from sandbox.pipeline.session import open_session


def main(master: str) -> None:
    session = open_session(master=master)
    rows = session.range(8, numPartitions=4).mapInArrow(origins, "origin STRING, process INT, cwd STRING").distinct()
    print(json.dumps([row.asDict() for row in rows.collect()]))
    session.stop()


def origins(batches: Iterator[Any]) -> Iterator[Any]:
    import os

    import pyarrow as pa

    import sandbox.message.record

    for _ in batches:
        process = pa.array([os.getppid()], pa.int32())
        yield pa.record_batch({"origin": [sandbox.message.record.__file__], "process": process,
                               "cwd": [os.getcwd()]})


if __name__ == "__main__":
    main(*sys.argv[1:])
