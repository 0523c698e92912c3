"""`manage.py fidelity`: run the tests of every claim, and list claims without a test."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from queueviz.fidelity import reference, runner
from queueviz.fidelity.ledger import Claim, ledger
from queueviz.fidelity.marks import MarkUnread, scan
from sandbox.tools.reference import write_pages


class Command(BaseCommand):
    help = "Run the tests of docs/fidelity.md. The exit code is 1 unless every row has tests and all tests pass."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        shape = 'print [{"row", "claim", "tests": [{"id", "outcome"}]}]'
        parser.add_argument("--json", action="store_true", help=shape)
        parser.add_argument("--row", action="extend", nargs="+", default=[], metavar="ROW", help="only these rows")
        parser.add_argument("--docs", action="store_true", help="write docs/fidelity.md and its sections; run nothing")
        parser.add_argument("--tests", type=Path, default=None, metavar="DIR", help="directory of the tests")

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        if options["docs"]:
            return self._write_docs(root)
        rows, tests = ledger(), options["tests"] or root / "tests"
        if unknown := [row for row in options["row"] if row not in rows]:
            raise CommandError(f"No row {unknown[0]}. Rows are 0.1 … 4.38 and D1 … D49.")
        asked = [rows[row] for row in dict.fromkeys(options["row"])] or list(rows.values())
        marked_wrongly = self._unknown_marks(Path(tests), rows)
        if marked_wrongly:  # pytest would stop at them with more words
            raise CommandError("\n".join(marked_wrongly))
        try:
            ended = runner.run(Path(tests), root=_working_directory(Path(tests), root), rows=options["row"])
        except runner.RunBroken as broken:
            raise CommandError(str(broken)) from None
        listed = runner.by_row(asked, ended.outcomes)
        self.stdout.write(json.dumps(listed, ensure_ascii=False, indent=1) if options["json"] else _lines(listed))
        faults = runner.faults(listed, rows, ended)
        for fault in faults:
            self.stderr.write(fault)
        if faults:
            sys.exit(1)
        return None

    def _write_docs(self, root: Path) -> None:
        for name in write_pages(reference.pages(root), root / "docs"):
            self.stdout.write(f"docs/{name}")

    @staticmethod
    def _unknown_marks(tests: Path, rows: Mapping[str, Claim]) -> list[str]:
        try:
            marks = scan(tests, tests.parent)
        except MarkUnread as unread:
            return [str(unread)]
        return [
            f"{test} has the mark {row}, and docs/fidelity.md has no such row."
            for row, test in marks
            if row not in rows
        ]


def _working_directory(tests: Path, root: Path) -> Path:
    """Return the working directory for pytest: the tree's own tests run with its settings, others without."""
    return root if tests.resolve().is_relative_to(root) else tests


def _lines(listed: Iterable[runner.RowTests]) -> str:
    """Return the text of the list: row and claim, then each test once with the counts of its outcomes."""
    lines = []
    for entry in listed:
        lines.append(f"{entry['row']:<5} {entry['claim']}")
        counts = Counter((test["id"].partition("[")[0], test["outcome"]) for test in entry["tests"])
        lines += [f"      {outcome}  {name}" + (f" ({n})" if n > 1 else "") for (name, outcome), n in counts.items()]
    return "\n".join(lines)
