"""`manage.py serve`: update database and static files, start the engine and the pipeline's worker, and listen."""

import argparse
import errno
import hashlib
import logging
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command
from django.core.management.base import CommandParser
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from queueviz.access.database_limits import one_process_at_a_time
from queueviz.engines import MOST_ENGINES, engines_for_this_machine
from queueviz.runs.worker_process import WorkerBeside
from sandbox.kernel.errors import EngineBusy, Locked

log = logging.getLogger(__name__)

REQUEST_GRACE_S = 1.0


class Command(BaseCommand):
    help = "Serve QueueViz on one address. Migrates the database and collects static files first."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", type=port_number, default=8000, help="port to listen on (default 8000)")
        parser.add_argument(
            "--engines",
            type=engines_number,
            default=settings.QUEUEVIZ_ENGINES,
            metavar="N",
            help="engine processes; auto: by cores; 0: a thread of this process (default: QUEUEVIZ_ENGINES, else 0)",
        )
        parser.add_argument(
            "--without-worker",
            action="store_true",
            help="execute no pipeline runs; start manage.py pipelineworker for them",
        )

    def handle(
        self, *args: Any, host: str, port: int, engines: int, without_worker: bool = False, **options: Any
    ) -> None:
        refuse_a_busy_port(host, port)
        prepare(engines)
        worker = None if without_worker else WorkerBeside().start()
        try:
            self.serve(host, port)
        finally:
            if worker is not None:
                worker.stop()
        end_beside_stuck_requests()

    def serve(self, host: str, port: int) -> None:
        from queueviz import engine
        from queueviz.asgi import application
        from queueviz.live import hubs, process_notices
        from queueviz.live.server import Server  # installs Twisted's reactor, so not before it is wanted
        from queueviz.operations import upkeep
        from queueviz.sandboxes import initial_histories

        shown = f"[{host}]" if ":" in host else host

        def ready() -> None:
            self.stdout.write(f"QueueViz: http://{shown}:{port}/   (Ctrl+C stops it)")
            self.stdout.flush()
            initial_histories.make_others()

        initial_histories.make_first(self.stdout.write)
        escaped = host.replace(":", r"\:")
        server = Server(
            application,
            endpoints=[f"tcp:{port}:interface={escaped}"],
            ready_callable=ready,
            verbosity=0,
            websocket_handshake_timeout=10,
            application_close_timeout=5,
        )
        try:
            process_notices.start(hubs.recheck)
        except ValueError as error:
            engine.stop()
            raise CommandError(f"Cannot start: {error}") from error
        timers = upkeep.start()
        try:
            server.run()
        finally:
            for timer in timers:
                timer.stop()
            process_notices.stop()
            engine.stop()  # not left to `atexit`: by then no pool takes work, and a broker could not flush


def end_beside_stuck_requests() -> None:
    """End the process, even if requests still run.

    A request that runs when the event loop ends waits for that loop for ever (asgiref), and Python waits for its
    thread.
    """
    threads = [
        thread for thread in threading.enumerate() if thread is not threading.main_thread() and not thread.daemon
    ]
    deadline_s = time.monotonic() + REQUEST_GRACE_S
    for thread in threads:
        thread.join(max(0.0, deadline_s - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        log.info("some requests were still running at shutdown and got no response")
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # the engine has stopped and everything is written


def prepare(engines: int) -> None:
    """Prepare engines, database and static files, or exit with a sentence.  One server per data home."""
    from queueviz import engine

    engine.use_processes(engines)
    home = Path(settings.QUEUEVIZ_HOME)
    try:
        home.mkdir(parents=True, exist_ok=True)
        if settings.QUEUEVIZ_RAY_ADDRESS:
            demand_postgresql()
            migrate_if_needed()  # engines and their leases are found in the database
        engine.port()  # first: until the data home is ours, nothing in it may be changed
        migrate_if_needed()
        with one_process_at_a_time("static"):
            collect_static_if_needed()
    except EngineBusy as error:
        raise CommandError(f"Cannot start: {error}") from error
    except Locked as error:
        hint = "Stop that process, or set QUEUEVIZ_HOME to another data home."
        raise CommandError(f"Cannot start: {error}. {hint}") from error
    except DatabaseError as error:
        hint = (
            "Check free space and permissions. If it is damaged, restore a backup; it does not contain the sandboxes."
        )
        raise CommandError(
            f"Cannot start: the database {database_name()} cannot be used: {one_line(error)}. {hint}"
        ) from error
    except OSError as error:
        hint = "Check free space and permissions, or set QUEUEVIZ_HOME to another data home."
        raise CommandError(
            f"Cannot start: the data home {home} cannot be written: {one_line(error)}. {hint}"
        ) from error


def demand_postgresql() -> None:
    if connection.vendor != "postgresql":
        raise CommandError(
            "Cannot start: engines on several machines (QUEUEVIZ_RAY_ADDRESS) share one PostgreSQL. "
            "Set QUEUEVIZ_DATABASE_URL."
        )


def database_name() -> str:
    """Return the database's name for messages: a file, or a name at a host; never its password."""
    values = settings.DATABASES[DEFAULT_DB_ALIAS]
    return f"{values['NAME']} at {values['HOST']}" if values.get("HOST") else str(values["NAME"])


def one_line(error: Exception) -> str:
    text = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()).removesuffix(".")


def port_number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: choose a number from 1 to 65535")
    return int(text)


def engines_number(text: str) -> int:
    if text == "auto":
        return engines_for_this_machine()
    if not text.isdecimal() or int(text) > MOST_ENGINES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of engines: choose 0 to {MOST_ENGINES}, or auto")
    return int(text)


def refuse_a_busy_port(host: str, port: int) -> None:
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, OverflowError) as error:
        busy = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "another program uses this port" if busy else str(error)
        raise CommandError(f"Cannot listen on {host}:{port}: {reason}. Choose another port with --port.") from error


def migrate_if_needed() -> None:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            [verdict] = cursor.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise DatabaseError(verdict)
    with one_process_at_a_time("migrate"):  # several may start at once on one PostgreSQL
        executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", verbosity=0, interactive=False)


def collect_static_if_needed() -> None:
    """Collect static files if they changed, since hashing and copying takes 1 or 2 s."""
    root = Path(settings.STATIC_ROOT)
    mark = root / ".collected"
    expected = static_fingerprint()
    if not mark.is_file() or mark.read_text() != expected:
        call_command("collectstatic", verbosity=0, interactive=False, clear=True)
        root.mkdir(parents=True, exist_ok=True)
        mark.write_text(expected)


def static_fingerprint() -> str:
    digest = hashlib.sha256()
    for directory in settings.STATICFILES_DIRS:
        for folder, folders, names in os.walk(directory):
            folders.sort()
            for name in sorted(names):
                path = Path(folder) / name
                stat = path.stat()
                digest.update(f"{path}:{stat.st_size}:{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
