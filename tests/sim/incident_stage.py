"""Plays an incident as a recipe makes it: the packed text, unpacked and executed, in virtual time."""

import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import orjson

from sandbox.cluster.config import HostConfig
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import pack, unpack
from sandbox.hosting.incident_notes import Noted, noted, order_of
from sandbox.hosting.recipes import RUN, run_of
from sandbox.hosting.rerun import Rerun
from sandbox.journal.schema import Row, from_row
from sandbox.kernel.engine_version import ENGINE
from sandbox.labs.evidence import Evidence
from sandbox.labs.incidents import INCIDENTS
from sandbox.labs.incidents.incident import Note

LIMITS = HostLimits()


class Played(NamedTuple):
    rows: list[Row]
    evidence: Evidence
    noted: Noted
    refused: list[str]

    def note(self, title: str) -> Note:
        return next(note for note in self.noted.notes if note.title == title)

    def seq(self, title: str) -> int:
        return self.note(title).seq

    def at_ms(self, title: str) -> int:
        seq = self.seq(title)
        return next(int(row["at_ms"]) for row in self.rows if row["seq"] == seq)


@cache
def played(slug: str) -> Played:
    return play(slug)


def play(slug: str) -> Played:
    incident, config = INCIDENTS[slug], HostConfig()
    run = run_of(unpack(pack(order_of(incident, config), LIMITS), LIMITS), config)
    with tempfile.TemporaryDirectory(prefix="incident-") as home:
        directory = Path(home) / "sandboxes" / RUN
        directory.mkdir(parents=True)
        (directory / "sandbox.json").write_bytes(orjson.dumps({**run.origin.record, "engine": ENGINE}))
        with Rerun(run.origin, run.lines, run.rows, home=Path(home), directory=directory, until=run.until) as rerun:
            rerun.run()
            rows = rerun.written()
            evidence = Evidence({})
            for entry in map(from_row, rows):
                if not incident.is_after(entry):
                    evidence.add(entry)
            return Played(rows, evidence, noted(directory, incident), [str(why) for _seq, why in rerun.refused])
