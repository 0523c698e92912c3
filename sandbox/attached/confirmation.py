"""The confirmation that an operator types before the offsets of a real cluster are changed."""

from sandbox.kernel.errors import ActionRefused


def confirmed(typed: str | None, group: str) -> None:
    """Raise ActionRefused (422) if the typed text is not the group's name."""
    if typed != group:
        raise ActionRefused(422, "This is a real cluster.", "Type the name of the group to confirm.", field="confirm")
