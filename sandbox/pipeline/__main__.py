"""The child process with Spark: `launch` starts it and reads its reports."""

import argparse
import os
import stat
import sys
import threading
from pathlib import Path

from sandbox.pipeline.runs.clients import Clients
from sandbox.pipeline.runs.runner import Runner
from sandbox.pipeline.runs.session_socket import Listener, listening_in


def main() -> None:
    """Execute orders one after the other, and write reports.

    Orders come from the parent at standard input, whose end also ends this process.  With `--idle-s`, the process
    has no parent and ends after this time without orders.  With `--listen`, orders also come from commands.
    """
    parser = argparse.ArgumentParser(prog="sandbox.pipeline")
    parser.add_argument("--master")
    parser.add_argument("--remote")
    parser.add_argument("--writes-archive", type=Path, metavar="DRAFT", help="of Java's classes, as its Java was asked")
    parser.add_argument("--listen", type=Path, metavar="DIR", help="directory of a socket for further orders")
    parser.add_argument("--idle-s", type=float, help="end after this time without orders; standard input is not read")
    arguments = parser.parse_args()
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # output of Spark and its libraries is no report
    is_kept = arguments.idle_s is not None
    listener = _listener(arguments.listen)
    if is_kept and listener is None:
        sys.exit("Another session is kept here already, or this directory cannot have a socket.")
    clients = Clients(None if is_kept else out.write)
    runner = Runner(clients.report, master=arguments.master, remote=arguments.remote)
    if listener is not None:
        threading.Thread(target=clients.listen, args=(listener, runner), daemon=True).start()
    if not is_kept:
        threading.Thread(target=clients.hear_parent, args=(sys.stdin.buffer, runner), daemon=True).start()
    while (order := clients.next_order(arguments.idle_s)) is not None:
        if is_kept:
            _empty_log()
        runner.run(order)
        if runner.is_useless:
            break
    if listener is not None:
        listener.close()
    runner.close(arguments.writes_archive)


def _listener(directory: Path | None) -> Listener | None:
    try:
        return None if directory is None else listening_in(directory)
    except OSError:  # a file system without sockets: commands start their own sessions
        return None


def _empty_log() -> None:
    """Empty the file of this process's other output, which would grow with each run."""
    if stat.S_ISREG(os.fstat(2).st_mode):
        os.ftruncate(2, 0)


if __name__ == "__main__":
    main()
