"""House rules a machine can keep: size, names, and a core that is given its time, luck and wires."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
WALL = 400  # lines of one file
LONGER = {  # were longer when the formatter came, and only get shorter
    "tests/pipeline/without_spark/test_cluster_source.py": 414,
    "tests/pipeline/without_spark/test_lag_history_fold.py": 427,
    "tests/unit/client/test_push_consumer.py": 425,
    "tests/web/test_messages_page.py": 514,
}
VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "misc", "tools", "shared", "lib", "stuff"}

FILES = sorted(
    path.relative_to(ROOT)
    for top in ("sandbox", "queueviz", "tests")
    for path in (ROOT / top).rglob("*.py")
    if "migrations" not in path.parts
)
ENGINE = [path for path in FILES if path.parts[0] == "sandbox"]

# Floors 2 to 5: no web, no threads, no process settings.
BELOW_HOSTING = {
    "kernel",
    "journal",
    "control",
    "remoting",
    "message",
    "store",
    "store_audit",
    "store_columns",
    "transport",
    "sim",
    "broker",
    "namesrv",
    "client",
    "labs",
}
OUTER_WORLD = {
    "django",
    "channels",
    "daphne",
    "ninja",
    "pyspark",
    "threading",
    "concurrent",
    "multiprocessing",
    "subprocess",
    "signal",
    "environ",
    "getenv",
}
# The core also never waits and opens no socket.
CORE = {
    "journal",
    "control",
    "remoting",
    "message",
    "store",
    "store_audit",
    "store_columns",
    "broker",
    "namesrv",
    "labs",
}
WAITING = {"asyncio", "socket", "select", "selectors", "sched"}
# Time comes from kernel.clock, luck from kernel.chance.
CLOCKS_AND_DICE = {"time", "timeit", "datetime", "random", "secrets", "uuid"}
MAY_BE_ASYNC = {
    "client",
    "transport",
    "sim",
    "cluster",
    "queries",
    "commands",
    "attached",
    "hosting",
    "live",
    "lite",
    "simulation",
    "tools",
    "notebook",
}
MAY_BE_ASYNC_TOO = {
    "sandbox/kernel/clock.py",
    "sandbox/kernel/process_clock.py",
    "sandbox/pipeline/sinks/sending.py",
    *(f"sandbox/pipeline/sources/cluster{part}.py" for part in ("", "_line", "_link", "_pull", "_watch")),
    "sandbox/remoting/channel.py",
}  # the last is a promise

EXCEPT = {
    ("sandbox/kernel/clock.py", "time"),  # where time comes from
    ("sandbox/kernel/chance.py", "random"),  # where luck comes from
    ("sandbox/kernel/ids.py", "time"),  # calendar arithmetic on a time it is given
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text("utf-8"))


def names_taken(path: Path) -> set[str]:
    """Top-level modules a file imports, and `environ` or `getenv` of `os` wherever they come from."""
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
            names |= {alias.name for alias in node.names if node.module == "os"}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            names.add(node.attr)
    return {name for name in names if (path.as_posix(), name) not in EXCEPT}


def floor(path: Path) -> str:
    return path.parts[1]


BELOW = [path for path in ENGINE if floor(path) in BELOW_HOSTING]


def reported(path: Path, found: set[str]) -> list[str]:
    """`sandbox/x.py: random, time`, if anything was found."""
    return [f"{path}: {', '.join(sorted(found))}"] if found else []


def test_no_file_is_longer_than_one_idea() -> None:
    lines = {path: len((ROOT / path).read_text("utf-8").splitlines()) for path in FILES}
    long = [f"{path}: {count} lines" for path, count in lines.items() if count > LONGER.get(str(path), WALL)]
    assert long == [], "one idea per file"


def test_every_file_is_named_after_its_idea() -> None:
    assert [str(path) for path in FILES if path.stem in VAGUE] == [], "name the idea, not the drawer"


def test_no_two_test_modules_share_a_name() -> None:
    names = [path.name for path in FILES if path.name.startswith("test_")]
    assert not {name for name in names if names.count(name) > 1}, "pytest imports test modules by their bare names"


def test_every_module_says_what_it_is() -> None:
    assert [str(path) for path in ENGINE if not ast.get_docstring(parsed(path))] == []


def test_below_hosting_there_is_no_web_no_thread_and_no_environment() -> None:
    assert [line for path in BELOW for line in reported(path, names_taken(path) & OUTER_WORLD)] == []


def test_time_and_luck_are_given() -> None:
    assert [line for path in BELOW for line in reported(path, names_taken(path) & CLOCKS_AND_DICE)] == []


def test_the_core_never_waits() -> None:
    core = [path for path in BELOW if floor(path) in CORE]
    assert [line for path in core for line in reported(path, names_taken(path) & WAITING)] == []


def test_async_is_written_where_something_waits() -> None:
    elsewhere = [path for path in ENGINE if floor(path) not in MAY_BE_ASYNC and path.as_posix() not in MAY_BE_ASYNC_TOO]
    assert [
        f"{path}:{node.lineno}"
        for path in elsewhere
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.AsyncFunctionDef | ast.Await)
    ] == []
