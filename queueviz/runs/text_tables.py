"""Tables of a result as text for a terminal.

A table has a line of names and aligned columns; long values are shortened except in the last column.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from sandbox.kernel import json_bytes
from sandbox.pipeline.runs.results import Table

WIDEST = 60
NULL = "__HIVE_DEFAULT_PARTITION__"  # Spark's directory of rows without a value


def lines_of(out: Path, name: str, table: Table, most: int) -> Iterator[str]:
    """Yield the first `most` rows as lines; the last line has the number of rows and the path.

    Files other than Parquet are only counted.
    """
    rows = list(islice(_rows(out / table.path), most)) if most else []
    if rows:
        yield from _aligned(rows)
    more = f", {len(rows)} of them shown (--show {table.rows} shows all)" if 0 < len(rows) < table.rows else ""
    bad = f", {table.malformed} of them malformed" if table.malformed is not None else ""
    yield f"{name}: {table.rows} rows{bad}{more}, in {out}"


def _rows(directory: Path) -> Iterator[dict[str, object]]:
    import pyarrow.parquet

    for path in sorted(directory.rglob("*.parquet")):
        parts = path.relative_to(directory).parent.parts
        above = dict(part.split("=", 1) for part in parts if "=" in part)  # of a partitioned table
        columns = {name: None if value == NULL else unquote(value) for name, value in above.items()}
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=1_024):
            yield from ({**row, **columns} for row in batch.to_pylist())


def _aligned(rows: list[dict[str, object]]) -> Iterator[str]:
    printed = [[_text(value) for value in row.values()] for row in rows]
    texts = [list(rows[0]), *([*map(_cut, row[:-1]), row[-1]] for row in printed)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _text(value: object) -> str:
    """Return the value as one line of printable characters."""
    if value is None:
        return "-"
    printed = value if isinstance(value, str) else json_bytes.dumps(value, default=repr).decode()
    return "".join(character if character.isprintable() else "·" for character in printed)


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
