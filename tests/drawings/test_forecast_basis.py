"""The forecast of one more member is asked again when what it rests on changes, and only then."""

from typing import Any

from tests.drawings.modules import Modules

BASIS = "({ basis }, board) => basis(board)"


def board(*, state: str = "running", owner: str = "a", assigned: str = "a", **row: Any) -> dict[str, Any]:
    return {
        "header": {"strategy": "AVG", "model": "CLUSTERING"},
        "members": {"a": {"state": state}},
        "queues": {"b:0": {"owner": owner, "assigned": assigned, "max": "10", "committed": "4", **row}},
    }


def test_a_crash_a_new_owner_and_a_new_assignment_renew_it(modules: Modules) -> None:
    before = modules("forecast", BASIS, board())
    for after in (board(state="crashed"), board(state="hung"), board(owner="b"), board(assigned="b")):
        assert modules("forecast", BASIS, after) != before


def test_messages_and_commits_do_not(modules: Modules) -> None:
    assert modules("forecast", BASIS, board(max="99", committed="90")) == modules("forecast", BASIS, board())
