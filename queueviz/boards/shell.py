"""The template values that every page of a sandbox has: its row, addresses and rights."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, TypedDict

from queueviz.access import hidden_names
from queueviz.refusal_texts import filled
from queueviz.slugs import api_of, root_of
from sandbox.attached.settings import is_attached
from sandbox.cluster.disk_full import NOTHING_MORE
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.queries.rows.snapshot import SandboxRow, Snapshot

MOST_TROUBLES = 3  # sentences in a banner


class Entry(NamedTuple):
    """Names of a sandbox or cluster, and the end of its retention: the engine knows none of them."""

    slug: str
    name: str
    label: str
    expires_at: datetime | None = None


class ShellValues(TypedDict):
    """The template values that every page of a sandbox has, from its snapshot and its entry."""

    place_label: str
    root: str
    api: str
    snapshot: Snapshot
    can: Mapping[str, bool]
    role: str
    tab: str
    attached: bool
    begun_lab: Lab | None
    board_path: str
    expires_at: datetime | None


def shell_values(snapshot: Snapshot, entry: Entry, tab: str, *, can: Mapping[str, bool], role: str) -> ShellValues:
    """Return the values, with the sandbox's row of `snapshot` completed."""
    slug, expires_at = entry.slug, entry.expires_at
    row: SandboxRow = hidden_names.shown(
        {
            **snapshot["sandbox"],
            "slug": slug,
            "name": entry.name,
            "expires_at": expires_at.isoformat() if expires_at else None,
        }
    )
    if (reason := row.get("trouble_why")) is not None:
        row["trouble"] = hidden_names.shown(filled(NOTHING_MORE, {"why": reason}))
    elif is_attached(slug):
        row["trouble"] = _troubles(row)
    row["notices"] = [
        {**notice, "text": filled(notice["pattern"], notice["values"])} for notice in row.get("notices", ())
    ]
    snapshot["sandbox"] = row
    begun_lab = LABS.get(row.get("lab", ""))
    return {
        "place_label": hidden_names.shown(entry.label),
        "root": root_of(slug),
        "api": api_of(slug),
        "snapshot": snapshot,
        "can": can,
        "role": role,
        "tab": tab,
        "attached": is_attached(slug),
        "begun_lab": begun_lab,
        "board_path": "" if begun_lab is None else f"labs/{begun_lab.slug}/",
        "expires_at": expires_at,
    }


def _troubles(row: SandboxRow) -> str:
    """Return the worst errors of a cluster, in the reader's language, at most `MOST_TROUBLES`."""
    return " ".join(
        filled(trouble["pattern"], trouble["values"]) for trouble in row.get("troubles", ())[:MOST_TROUBLES]
    )
