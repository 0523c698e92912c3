"""Figures of the machine about the processes of a test (proc(5))."""

from pathlib import Path


def processes_below(pid: int) -> set[int]:
    found: set[int] = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found |= {int(stat.parent.name)} | processes_below(int(stat.parent.name))
    return found


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def in_sessions(leaders: set[int]) -> list[int]:
    """Those that run, also ones that made a process group of their own, as PySpark's do."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session, *_ = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(session) in leaders and state != "Z":
            found.append(int(path.parent.name))
    return found
