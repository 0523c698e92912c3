"""docs/flights.md: its commands and its program print what the page says."""

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from queueviz.management.commands.pipeline import Command, options_of, query_of
from queueviz.runs.text_tables import lines_of
from sandbox.pipeline.runs.results import manifest_of
from tests.pipeline.conftest import Run

pytestmark = pytest.mark.pipeline

PAGE = Path(__file__).parents[2] / "docs" / "flights.md"


def blocks(kind: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [text for said, text in found if said == kind]


def played(run: Run, line: str) -> Path:
    """A command of the pipeline, with the Spark that is there; where its result is."""
    given = vars(Command().create_parser("manage.py", "pipeline").parse_args(shlex.split(line)[3:]))
    out = (given["out"] or Path("asked")).resolve()
    reported = run(
        given["job"], store=given["store"].resolve(), out=out, **options_of(given), **query_of(given, "store")
    )
    assert reported[-1]["state"] == "done", reported[-1]
    return out


def printed(out: Path, name: str) -> str:
    found = manifest_of(out)
    assert found is not None
    return "\n".join(lines_of(out, name, found.tables[name], 20)).replace(str(out), "…/pipeline/sql/store") + "\n"


def test_delay_by_carrier_is_what_the_page_prints(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    settings.QUEUEVIZ_HOME = tmp_path / "home"
    feed, export = blocks("sh")[0].splitlines()
    call_command(*shlex.split(feed)[2:])
    played(run, export)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(blocks("python")[0], {})
    assert [said.getvalue(), printed(played(run, blocks("sh")[1]), "result")] == blocks("")
