"""The confirmation an operator types before the offsets of a real cluster are changed."""

from sandbox.kernel.errors import ActionRefused


def confirmed(typed: str | None, group: str) -> None:
    """Raises ActionRefused (422) where the group's name was not typed."""
    if typed != group:
        raise ActionRefused(422, "This is a real cluster.", "Type the name of the group to confirm.", field="confirm")
