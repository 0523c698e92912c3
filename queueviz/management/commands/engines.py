"""`manage.py engines`: list the engines of a Ray cluster with their sandboxes, and drain, stop or add engines."""

import json
import time
from typing import Any, TypedDict

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from queueviz.management.commands.serve import engines_number
from sandbox.hosting.lease import LeaseTable, LeaseUnreachable, Listed
from sandbox.kernel.errors import EngineBusy

HEADS = ("engine", "machine", "lease", "sandboxes", "awake", "of", "frames", "")
DRAINED_WITHIN_S = 600.0
LOOK_EVERY_S = 0.5


class StartOptions(TypedDict):
    """The options of `start`, by their names."""

    number: int


class NamedOptions(TypedDict):
    """The options of `drain` and `stop`, by their names."""

    name: str


class Command(BaseCommand):
    help = "Manage engines on several machines: list, start, drain or stop them (docs/growing.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", metavar="VERB")
        shown = verbs.add_parser("list", help="list engines, leases, sandboxes and frame age (default)")
        for verb_parser in (parser, shown):
            verb_parser.add_argument("--json", action="store_true", help="print one JSON object")
        start = verbs.add_parser("start", help="start engines until NUMBER run")
        start.add_argument(
            "number", type=engines_number, help="engines that run afterwards; 0: one per core of the cluster"
        )
        for verb, does in (
            ("drain", "stop its sandboxes, move them to the other engines, and wait for the end"),
            ("stop", "end it; the other engines open its sandboxes"),
        ):
            verb_parser = verbs.add_parser(verb, help=does)
            verb_parser.add_argument("name", help="name in `manage.py engines list`, such as engine-2")

    def handle(self, *args: Any, verb: str | None, **options: Any) -> None:
        try:
            if verb in (None, "list"):
                return self.show(as_json=options["json"])
            getattr(self, verb or "")(options)
        except LeaseUnreachable as error:
            raise CommandError(f"The database does not answer: {error}") from error
        except EngineBusy as error:
            raise CommandError(str(error)) from error

    def show(self, *, as_json: bool) -> None:
        rows = lease_table().engines()
        if as_json:
            self.stdout.write(json.dumps({"engines": [as_object(row) for row in rows]}))
        elif rows:
            self.stdout.write(table([HEADS, *(cells(row) for row in rows)]))
        else:
            self.stdout.write("No engine has a lease. On one machine `manage.py serve` needs none.")

    def start(self, options: StartOptions) -> None:
        from queueviz.engines import ray_cluster

        ray_cluster.connect(address())
        ray_cluster.see_that_there_are(options["number"])

    def drain(self, options: NamedOptions) -> None:
        name, table = options["name"], lease_table()
        rows = [row for row in table.engines() if row.expires_in_s > 0]
        demand_listed(name, rows)
        if all(row.name == name or row.is_draining for row in rows):
            raise CommandError(f"{name} is the only engine that accepts sandboxes. Start another engine first.")
        table.drain(name)
        ends_s = time.monotonic() + DRAINED_WITHIN_S
        while left := sum(row.sandboxes for row in table.engines() if row.name == name and row.expires_in_s > 0):
            if time.monotonic() > ends_s:
                raise CommandError(
                    f"{name} still has {left} sandboxes and continues to release them. Run the command again later."
                )
            time.sleep(LOOK_EVERY_S)
        self.stdout.write(f"{name} has no sandboxes left and accepts none. `manage.py engines stop {name}` ends it.")

    def stop(self, options: NamedOptions) -> None:
        from queueviz.engines import ray_cluster

        ray_cluster.connect(address())
        try:
            ray_cluster.stop(options["name"])
        except LookupError:
            raise CommandError(f"The cluster has no engine {options['name']}.") from None


def lease_table() -> LeaseTable:
    from queueviz.engines.lease_rows import LeaseRows

    return LeaseRows()


def demand_listed(name: str, rows: list[Listed]) -> None:
    names = sorted({row.name for row in rows})
    if name not in names:
        raise CommandError(f"No engine {name} has a lease. Engines with a lease: {', '.join(names) or 'none'}.")


def address() -> str:
    if not settings.QUEUEVIZ_RAY_ADDRESS:
        raise CommandError("QUEUEVIZ_RAY_ADDRESS is not set. Set it to the cluster address of `ray start --address`.")
    return str(settings.QUEUEVIZ_RAY_ADDRESS)


def table(lines: list[tuple[str, ...]]) -> str:
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEADS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def as_object(row: Listed) -> dict[str, object]:
    return {**row._asdict(), "figures": row.figures._asdict(), "expires_in_s": round(row.expires_in_s, 1)}


def cells(row: Listed) -> tuple[str, ...]:
    over = row.expires_in_s <= 0
    lease = f"expired {-row.expires_in_s:.0f} s ago" if over else f"{row.expires_in_s:.0f} s"
    figures = row.figures
    columns = (
        ("-", "-", "-")
        if over or figures.cap is None
        else (str(figures.awake), str(figures.cap), f"{figures.frame_age_ms} ms")
    )
    return (row.name, row.host, lease, str(row.sandboxes), *columns, "draining" if row.is_draining else "")
