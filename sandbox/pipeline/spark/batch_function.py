"""A function for `foreachBatch` that works in any process, also in one without QueueViz's code.

A Spark Connect server calls it in a process of its own which, unlike its tasks, does not get the session's archives
(`pyspark.sql.connect.streaming.worker.foreach_batch_worker`, 4.3).  So the function contains the package.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Take = Callable[["DataFrame", int], None]


def carried(session: "SparkSession", take: Callable[..., None], values: dict[str, object]) -> Take:
    """Return a function for `foreachBatch` that calls `take(entries, batch, **values)`.

    `take` is a function of a module; `values` are plain values.
    """
    module, name = take.__module__, take.__qualname__
    code = _packed() if "connect" in type(session).__module__ else None

    def called(entries: "DataFrame", batch: int) -> None:  # pickled by value: our names need not be importable
        import atexit
        import importlib
        import importlib.util
        import os
        import sys
        import tempfile

        if code is not None and importlib.util.find_spec("sandbox") is None:
            with tempfile.NamedTemporaryFile(prefix="queueviz-", suffix=".zip", delete=False) as file:
                file.write(code)
            sys.path.append(file.name)
            atexit.register(os.unlink, file.name)
        getattr(importlib.import_module(module), name)(entries, batch, **values)

    return called


def _packed() -> bytes:
    from sandbox.pipeline.session import packed

    with tempfile.TemporaryDirectory() as directory:
        return packed(Path(directory)).read_bytes()
