"""Messages of a course's server to the run in a student's browser, and the rows that the browser keeps."""

from typing import TypedDict


class CameRow(TypedDict):
    """One outside event of the run: its number from 1, and the fields of `Came`.

    `at_ms`: time of the sandbox's clock.
    """

    n: int
    turn: int
    ms: int
    at_ms: int
    name: str | None
    fields: dict[str, object]
    by: str


class Begin(TypedDict):
    """The beginning of a run: the values of a `RunOrder`, and the state of the course.

    `came`: turn, ms, name, fields and actor of each entry; `receipt`: of the newest one.  `hold`: the teacher's, as
    `TeacherHold` keeps it.  `open_until`: the last open step, None if all are open.  `due_ms`: by the server's clock.
    """

    lab: str
    template: str
    preset: str
    seed: str
    wall_ms: int
    memory_bytes: int
    first_port: int
    conditions: str
    changes: dict[str, object]
    until_ms: int
    came: list[tuple[int, int, str | None, dict[str, object], str]]
    receipt: str
    hold: dict[str, object]
    open_until: int | None
    due_ms: int | None


class RunName(TypedDict):
    """The name of a run in the browser's storage, as the first line of what is kept."""

    seed: str
    wall_ms: int


def run_name(begin: Begin) -> RunName:
    return {"seed": begin["seed"], "wall_ms": begin["wall_ms"]}
