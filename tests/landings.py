"""Landings of the main branch, read from git: what a commit belongs to, and what it changed."""

import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LENGTH_S = 3 * 3600  # commits that were made within it of one another land together


class Commit(NamedTuple):
    name: str
    time_s: int


class Landing(NamedTuple):
    """`base`: the commit before it.  `changed`: paths between the base and the work tree; `open`: those of them that
    are not committed.
    """

    number: int
    base: str
    changed: frozenset[str]
    open: frozenset[str] = frozenset()


def landing(root: Path = ROOT) -> Landing:
    """Return the landing of HEAD and the work tree; without git one that has no base and changed nothing."""
    lines = _git(root, "log", "--first-parent", "--reverse", "--format=%h %ct")
    commits = [Commit(name, int(time_s)) for name, time_s in map(str.split, lines)]
    if not commits:
        return Landing(0, "", frozenset())
    base = base_of(commits)
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    uncommitted = frozenset((*_git(root, "diff", "--name-only", "HEAD"), *new))
    changed = uncommitted.union(_git(root, "diff", "--name-only", base))
    return Landing(number_of(commits), base, changed, uncommitted)


def number_of(commits: list[Commit]) -> int:
    """Return how many landings `commits` are, oldest first: one ends LENGTH_S after its first commit.

    >>> number_of([Commit("a", 0), Commit("b", 3_600), Commit("c", 10_801)])
    2
    """
    count, ends_s = 0, -1
    for commit in commits:
        if commit.time_s > ends_s:
            count, ends_s = count + 1, commit.time_s + LENGTH_S
    return count


def base_of(commits: list[Commit]) -> str:
    """Return the newest commit that was made more than LENGTH_S before the last one, or the first of all.

    >>> base_of([Commit("a", 0), Commit("b", 3_600), Commit("c", 10_801)])
    'a'
    """
    last = commits[-1]
    return next(
        (commit.name for commit in reversed(commits) if last.time_s - commit.time_s > LENGTH_S), commits[0].name
    )


def _git(root: Path, *arguments: str) -> list[str]:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []
