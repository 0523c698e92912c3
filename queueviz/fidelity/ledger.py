"""The ledger: every claim of the articles as one row, and the 49 differences between articles and code.

Rows are in `claims/*.toml`, one file per article and one for the differences.  Loading checks all of them, so a
`Ledger` has complete rows.  This module needs no Django, since the tests' own hooks use it too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

CLAIMS = Path(__file__).parent / "claims"
ROW = re.compile(r"(?P<section>[0-4])\.(?P<number>[1-9]\d?)|D[1-9]\d?")
ROWS_OF = {"0": 42, "1": 34, "2": 13, "3": 45, "4": 38, "D": 49}  # how many rows each section has to have
PLACES = frozenset(
    {
        "board",
        "locks",
        "index",
        "reset",
        "topics",
        "journal",
        "settings",
        "client",
        "topology",
        "wire",
        "rebalance",
        "store",
        "messages",
    }
)
SAME = "the same"
SAME_ZH = "相同"
MOST_CHARS = 240  # of one sentence


class LedgerBroken(ValueError):
    """The error of a row that is incomplete, unknown or duplicate; the message names the row and its file."""


class Claim(NamedTuple):
    """One row of the ledger.  Texts are plain sentences; `…_zh` is the same in Simplified Chinese."""

    row: str  # 0.27, D6
    claim: str  # what the article says
    claim_zh: str
    rocketmq: str  # what the code of RocketMQ 4.9.8 does
    rocketmq_zh: str
    source: str  # RocketMQ's class, then the section of the specification: "ProcessQueue; client 7"
    ours: str = SAME  # what this engine does
    ours_zh: str = SAME_ZH
    differs: tuple[str, ...] = ()  # rows of differences that concern this claim
    seed_value: str = ""  # the article's value, where the code has another
    seed_value_zh: str = ""
    code_value: str = ""
    code_value_zh: str = ""
    where: tuple[str, ...] = ()  # pages of a sandbox where it is seen
    article: int | None = None  # of a difference: the section it belongs to

    @property
    def section(self) -> str:
        """The section of the row: 0 to 4, or D."""
        return self.row[0]

    @property
    def has_values(self) -> bool:
        return bool(self.seed_value)

    def said(self, field: str, language: str) -> str:
        """Return a text field in the reader's language.  Values without words are the same in both languages."""
        text: str = getattr(self, field)
        return getattr(self, f"{field}_zh", "") or text if language.startswith("zh") else text


class Ledger(Mapping[str, Claim]):
    """All rows by id, in order: 0.1 … 4.38, D1 … D49."""

    def __init__(self, rows: Iterable[Claim]) -> None:
        self._rows = {row.row: row for row in sorted(rows, key=lambda row: place_of(row.row))}

    def __getitem__(self, row: str) -> Claim:
        return self._rows[row]

    def __iter__(self) -> Any:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def section(self, name: str) -> list[Claim]:
        return [row for row in self._rows.values() if row.section == name]

    def concerned(self, difference: str) -> list[str]:
        """Return the rows of the claims to which a difference belongs."""
        return [row.row for row in self._rows.values() if difference in row.differs]


def place_of(row: str) -> tuple[str, int]:
    """Return the sort key of a row id: section, then number."""
    return (row[0], int(row[1:].removeprefix(".")))


@cache
def ledger() -> Ledger:
    """Return the ledger of this package, which is read and checked once."""
    return load(CLAIMS)


def load(directory: Path) -> Ledger:
    """Read the ledger from every file in `directory`.

    Raises LedgerBroken for an incomplete, unknown or duplicate row.
    """
    claims: dict[str, Claim] = {}
    for path in sorted(directory.glob("*.toml")):
        for claim in read(path):
            if claim.row in claims:
                raise LedgerBroken(f"{path.name}: row {claim.row} exists twice")
            claims[claim.row] = claim
    _check_whole(claims)
    return Ledger(claims.values())


def read(path: Path) -> list[Claim]:
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LedgerBroken(f"{path.name}: {error}") from None
    if unknown := set(tables) - {"claim"}:
        raise LedgerBroken(f"{path.name}: only [[claim]] is known, not {sorted(unknown)[0]}")
    return [_claim(path.name, table) for table in tables.get("claim", ())]


def _claim(file: str, table: Mapping[str, Any]) -> Claim:
    row = table.get("row")
    if not isinstance(row, str) or not ROW.fullmatch(row):
        raise LedgerBroken(f"{file}: {row!r} is no row id such as 0.27 or D6")
    values = dict(table)
    for field in ("differs", "where"):
        values[field] = tuple(values.get(field, ()))
    try:
        claim = Claim(**values)
    except TypeError as error:  # a field too many, or one that has no default missing
        raise LedgerBroken(f"{file}: row {row}: {str(error).removeprefix('Claim.__new__() ')}") from None
    for complaint in _complaints(claim):
        raise LedgerBroken(f"{file}: row {row}: {complaint}")
    return claim


def _complaints(claim: Claim) -> Iterable[str]:
    for field in ("claim", "claim_zh", "rocketmq", "rocketmq_zh", "source", "ours", "ours_zh"):
        text = getattr(claim, field)
        if not isinstance(text, str) or not text.strip():
            yield f"{field} is empty"
        elif len(text) > MOST_CHARS:
            yield f"{field} has {len(text)} characters, at most {MOST_CHARS} are a sentence"
    if (claim.ours == SAME) != (claim.ours_zh == SAME_ZH):
        yield "ours is said in one language only"
    if bool(claim.seed_value) != bool(claim.code_value):
        yield "seed_value and code_value stand together"
    if unknown := set(claim.where) - PLACES:
        yield f"where names {sorted(unknown)[0]}, which is no page"
    if claim.section == "D" and not (claim.has_values and claim.article in range(5)):
        yield "a difference has both values and its article, 0 to 4"
    if claim.section != "D" and claim.article is not None:
        yield "only a difference names its article"


def _check_whole(claims: Mapping[str, Claim]) -> None:
    expected = {
        f"D{n}" if section == "D" else f"{section}.{n}"
        for section, count in ROWS_OF.items()
        for n in range(1, count + 1)
    }
    if missing := expected - set(claims):
        raise LedgerBroken(f"row {min(missing, key=place_of)} is missing")
    if unknown := set(claims) - expected:
        raise LedgerBroken(f"row {min(unknown, key=place_of)} is none of the articles'")
    for claim in claims.values():
        for difference in claim.differs:
            if difference not in claims or not difference.startswith("D"):
                raise LedgerBroken(f"row {claim.row} names the difference {difference}, which there is not")
