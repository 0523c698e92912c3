"""Matrix of roles and rights (catalogue 3)."""

from typing import Any, Literal, NamedTuple, get_args

Verb = Literal["see", "act", "fault", "reset", "shape", "time", "share", "grade"]
Role = Literal["owner", "instructor", "editor", "student", "viewer", "operator"]

VERBS: tuple[Verb, ...] = get_args(Verb)
ROLES: tuple[Role, ...] = get_args(Role)

_ENGINE: frozenset[Verb] = frozenset({"see", "act", "fault", "reset", "shape", "time"})

_MATRIX: dict[Role, frozenset[Verb]] = {
    "owner": _ENGINE | {"share"},
    "instructor": _ENGINE | {"share", "grade"},
    "editor": _ENGINE,
    "student": _ENGINE,  # inside a lab: only what the lab allows
    "viewer": frozenset({"see"}),
    "operator": frozenset({"see", "reset"}),  # attached clusters only
}


class Actor(NamedTuple):
    """The user of an action: a role and the name shown to others."""

    role: Role
    name: str

    def __str__(self) -> str:
        return f"{self.role} {self.name}" if self.name else self.role


def is_by(by: str, role: Role) -> bool:
    """Return True if `by`, an `Actor` as the journal writes it, has that role."""
    return by.split(" ", 1)[0] == role


def can(role: Role, verb: str) -> bool:
    return verb in _MATRIX[role]


def allows(role: Role, action: Any) -> bool:
    """Return True if this role may execute that action (or kind of action): by its verb, and by its `only` if set."""
    return can(role, action.verb) and action.only in (None, role)
