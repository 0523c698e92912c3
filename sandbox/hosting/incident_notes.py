"""Incident of a sandbox and the notes of its markers, from the sandbox's files alone.

The seed identifies the incident: recipe and every branch have it.
"""

from pathlib import Path
from typing import NamedTuple

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.journal_files import DIRECTORY
from sandbox.control.branch_orders import RunOrder
from sandbox.hosting.recipes import written
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import SandboxError
from sandbox.labs.evidence import Evidence
from sandbox.labs.incidents import with_seed
from sandbox.labs.incidents.incident import BEGIN_MS, Incident, Note


class Noted(NamedTuple):
    """Notes of an incident.  `whole`: the journal has reached the incident's end, so the notes no longer change."""

    notes: tuple[Note, ...]
    whole: bool


def order_of(incident: Incident, config: HostConfig) -> RunOrder:
    """Return the incident's recipe, for a server with this configuration."""
    return written(
        incident.template,
        incident.preset,
        incident.seed,
        incident.done,
        begin_ms=BEGIN_MS,
        until_ms=incident.until_ms,
        config=config,
    )


def incident_of(directory: Path) -> Incident | None:
    """Return the incident of a sandbox's directory; None if it has none, or its record cannot be read."""
    try:
        return with_seed(records.load(directory).seed)
    except (SandboxError, OSError):
        return None


def noted(directory: Path, incident: Incident) -> Noted:
    """Return the notes on the incident that the journal shows so far.  Raises CorruptRecord and OSError."""
    evidence, whole = Evidence({}), False
    for row in rows_since(directory / DIRECTORY, 0):
        if whole := incident.is_after(entry := from_row(row)):
            break
        evidence.add(entry)
    return Noted(incident.notes(evidence), whole)
