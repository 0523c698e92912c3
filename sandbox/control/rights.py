"""Who may do what: the one matrix (catalogue: rights)."""

from typing import Literal, get_args

Verb = Literal["see", "act", "fault", "reset", "shape", "time", "share", "grade"]
Role = Literal["owner", "instructor", "editor", "student", "viewer", "operator"]

VERBS: tuple[Verb, ...] = get_args(Verb)

_ENGINE: frozenset[Verb] = frozenset({"see", "act", "fault", "reset", "shape", "time"})

_MATRIX: dict[Role, frozenset[Verb]] = {
    "owner": _ENGINE | {"share"},
    "instructor": _ENGINE | {"share", "grade"},
    "editor": _ENGINE,
    "student": _ENGINE,  # inside a lab: only what the lab allows
    "viewer": frozenset({"see"}),
    "operator": frozenset({"see", "reset"}),  # attached clusters only
}


def can(role: Role, verb: Verb) -> bool:
    return verb in _MATRIX[role]
