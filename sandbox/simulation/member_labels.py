"""The labels of members, by which people know them."""

from sandbox.queries.rows.snapshot import Snapshot


def labels_of(last: Snapshot) -> dict[str, str]:
    """Return the labels of a snapshot's members by client id."""
    return {
        member["client_id"]: member["actor"]
        for group in last["groups"]
        for member in group["members"]
        if member["actor"]
    }
