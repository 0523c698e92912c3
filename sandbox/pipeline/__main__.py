"""The child process with Spark: `launch` starts it and reads its reports."""

import argparse
import os
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import orjson

from sandbox.pipeline.runs.launch import Order
from sandbox.pipeline.runs.runner import Runner


def main() -> None:
    """Run the child process: execute orders from standard input one after the other, and write reports.

    The reports go to standard output.  A second thread handles cancellations at once.
    """
    parser = argparse.ArgumentParser(prog="sandbox.pipeline")
    parser.add_argument("--master")
    parser.add_argument("--remote")
    parser.add_argument("--writes-archive", type=Path, metavar="DRAFT", help="of Java's classes, as its Java was asked")
    arguments = parser.parse_args()
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # output of Spark and its libraries is no report
    runner = Runner(lambda report: write_report(out, report), master=arguments.master, remote=arguments.remote)
    orders: SimpleQueue[Order | None] = SimpleQueue()
    threading.Thread(target=listen, args=(orders, runner), daemon=True).start()
    while (order := orders.get()) is not None:
        runner.run(order)
        if runner.is_useless:
            break
    runner.close(arguments.writes_archive)


def listen(orders: "SimpleQueue[Order | None]", runner: Runner) -> None:
    """Read orders, cancellations and ends from standard input until the parent closes it; then cancel every order.

    The parent closes the input when it exits or needs no more results.  Orders that have not begun are cancelled too.
    """
    runs = []
    for line in sys.stdin.buffer:
        value: dict[str, Any] = orjson.loads(line)
        if "cancel" in value:
            runner.cancel(value["cancel"])
        elif "end" in value:
            runner.end(value["end"])
        else:
            orders.put(Order(**value))
            runs.append(value["run"])
    for run in runs:
        runner.cancel(run)
    orders.put(None)


def write_report(out: Any, report: dict[str, Any]) -> None:
    out.write(orjson.dumps(report, default=_plain, option=orjson.OPT_APPEND_NEWLINE))


def _plain(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)


if __name__ == "__main__":
    main()
