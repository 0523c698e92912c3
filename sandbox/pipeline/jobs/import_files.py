"""Job `import`: the rows of files, written by `export` or by another tool, sent to a topic of a running broker.

`path` is a file or a directory of them, `names` the name servers, `topic` where all rows go (without it: the topic
in each row's column `topic`).  A row's `body`, `keys`, `tags` and `properties` are the columns of these names, or
those the options `body`, `keys`, `tags` and `properties` name instead.  In NDJSON and CSV a body is base64, as
`export` writes it, or with `body_as=text` plain text; in CSV, properties are JSON.

All rows are read before the first is sent: an invalid one ends the run with its file and number, and nothing was
sent.  A later failure leaves a part sent, and names the `run` with which the rest can be sent without duplicates.
"""

import base64
import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.jobs.job import Given, Job, WrongOption, one_of
from sandbox.pipeline.runs.result_files import FORMATS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIELDS = ("body", "keys", "tags", "properties")
BODIES = ("base64", "text")
PAIRS = "MAP<STRING, STRING>"
BAD = "_no_row"  # where Spark keeps the text of a row it cannot read
SENT = "path STRING, topic STRING, run STRING, rows BIGINT"
CELL_BYTES = 16 * 1024 * 1024  # more than a broker takes


class ImportStopped(SandboxError):
    """Error: some rows may be in the topic and others not; the sentence says how to continue."""


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    from sandbox.pipeline.sinks.rocketmq import target_of

    options = job_input.options
    kind, path = one_of(options, "format", FORMATS), _path(options.get("path"))
    names = {field: options.get(field) or field for field in FIELDS}
    table = _read(job_input, kind, path, names)
    if names["body"] not in table.columns:
        raise WrongOption(
            f"{path} has no column {names['body']} for the body. Columns are: "
            f"{', '.join(column for column in table.columns if column != BAD)}."
        )
    rows = _rows(table, kind, names, one_of(options, "body_as", BODIES))
    topic = options.get("topic")
    kept = [name for name in (*FIELDS, *(() if topic else ("topic",))) if name in rows.columns]
    sink = {"names": options.get("names", ""), "run": options.get("run") or job_input.run}
    sink |= {"topic": topic} if topic else {}
    target_of(sink, rows.select(*kept).schema, overwrite=False)
    for row in rows.where("_why is not null").select("_file").limit(1).collect():
        raise WrongOption(_first_bad(kind, _local(row["_file"]), names, one_of(options, "body_as", BODIES)))
    observation = Observation()
    try:
        rows.select(*kept).observe(observation, f.count(f.lit(1)).alias("rows")).write.format("rocketmq").options(
            **sink
        ).mode("append").save()
    except Exception as error:
        from sandbox.pipeline.runs.error_sentences import sentence_of

        raise ImportStopped(
            f"{sentence_of(error)} Some rows may have been sent. With --option run={sink['run']} "
            "the same import sends only the others."
        ) from error
    sent = [(str(path), topic, sink["run"], int(observation.get["rows"]))]
    return {"sent": job_input.session.createDataFrame(sent, SENT)}


def _path(text: str | None) -> Path:
    if not text:
        raise WrongOption("Choose the rows to send: --option path=FILE, or a directory of files.")
    path = Path(text).absolute()
    if not path.exists():
        raise WrongOption(f"No file {path}.")
    return path


def _read(job_input: Given, kind: str, path: Path, names: Mapping[str, str]) -> "DataFrame":
    """Return the rows of a file or directory of this kind.

    Tables of text formats get a column `BAD` with unreadable text.
    """
    reader = job_input.session.read.option("columnNameOfCorruptRecord", BAD)
    if kind == "parquet":
        return job_input.session.read.parquet(str(path))
    if kind == "ndjson":
        fields = [f"`{names[field]}` {PAIRS if field == 'properties' else 'STRING'}" for field in FIELDS]
        return reader.schema(", ".join([*fields, "topic STRING", f"{BAD} STRING"])).json(str(path))
    options = {"header": "true", "escape": '"', "multiLine": "true", "columnPruning": "false"}
    columns = job_input.session.read.options(**options).csv(str(path)).columns
    texts = ", ".join(f"`{name}` STRING" for name in (*columns, BAD))
    return reader.options(**options).schema(texts).csv(str(path))


def _rows(table: "DataFrame", kind: str, names: Mapping[str, str], body_as: str) -> "DataFrame":
    """Return the columns of a message, `_file`, and `_why`: the error of an invalid row, else null."""
    from pyspark.sql import functions as f

    types = {field.name: field.dataType.simpleString() for field in table.schema.fields}
    given_body = f.col(f"`{names['body']}`")
    plain = types[names["body"]] == "binary"
    packed = kind != "parquet" and body_as == "base64"
    body = given_body if plain else f.try_to_binary(given_body, f.lit("base64" if packed else "utf-8"))
    made: dict[str, Column] = {"body": body}
    for field in FIELDS[1:]:
        if names[field] in table.columns:
            column = f.col(f"`{names[field]}`")
            text = field == "properties" and types[names[field]] == "string"
            made[field] = f.from_json(column, PAIRS) if text else column
    wrong = [
        f.when(given_body.isNull(), f.lit("body")),
        f.when(body.isNull(), f.lit("base64")),
        f.when(f.length(body) == 0, f.lit("empty")),
    ]
    if BAD in table.columns:
        wrong.insert(0, f.when(f.col(BAD).isNotNull(), f.lit("row")))
    if "properties" in made and types[names["properties"]] == "string":
        has_properties = f.col(f"`{names['properties']}`").isNotNull()
        wrong.append(f.when(has_properties & made["properties"].isNull(), f.lit("properties")))
    topic = {"topic": f.col("topic")} if "topic" in table.columns else {}
    return table.select(
        *(column.alias(name) for name, column in {**made, **topic}.items()),
        f.coalesce(*wrong).alias("_why"),
        f.col("_metadata.file_path").alias("_file"),
    )


def _local(address: str) -> Path:
    """Return the path of an address in Spark's form, which is a file URL or a plain path."""
    parsed = urlparse(address)
    return Path(unquote(parsed.path)) if parsed.scheme == "file" else Path(address)


def _first_bad(kind: str, path: Path, names: Mapping[str, str], body_as: str) -> str:
    """Return the sentence about the first invalid row.

    Spark reports only its file, so this process counts the rows.
    """
    whys = ((number, _why(row, kind, names, body_as)) for number, row in enumerate(_plain_rows(kind, path), 1))
    problem = next((f"Row {number} of {path}: {reason}" for number, reason in whys if reason is not None), None)
    return f"{problem or f'A row of {path} cannot be read'}. Nothing was sent."


def _plain_rows(kind: str, path: Path) -> Iterator[Any]:
    """Yield the rows of a file as plain values, without Spark; None for a line that is not JSON."""
    if kind == "parquet":
        import pyarrow.parquet

        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    elif kind == "ndjson":
        with path.open("rb") as lines:
            for line in filter(bytes.strip, lines):
                try:
                    yield json_bytes.loads(line)
                except json_bytes.JSONDecodeError:
                    yield None
    else:
        csv.field_size_limit(CELL_BYTES)
        with path.open(encoding="utf-8", errors="replace", newline="") as lines:
            for row in csv.DictReader(lines):
                whole = None not in row and None not in row.values()
                yield {key: value or None for key, value in row.items()} if whole else None


def _why(row: Any, kind: str, names: Mapping[str, str], body_as: str) -> str | None:
    """Return the error of a row, or None if the row has none that can be found without Spark."""
    if not isinstance(row, dict):
        return "its number of columns differs from the header" if kind == "csv" else "it is not a JSON object"
    body, pairs = row.get(names["body"]), row.get(names["properties"])
    if body is None:
        return f"it has no {names['body']} for the body"
    if not body:
        return f"{names['body']} is empty, and brokers refuse a message without a body"
    if kind != "parquet" and body_as == "base64" and not _is_base64(body):
        return f"{names['body']} is not base64; set --option body_as=text for plain text"
    if isinstance(pairs, str):
        try:
            pairs = json_bytes.loads(pairs)
        except json_bytes.JSONDecodeError:
            pairs = ""
    if pairs is not None and not isinstance(pairs, dict) and kind != "parquet":
        return f"{names['properties']} is not a JSON object of names and values"
    return None


def _is_base64(text: object) -> bool:
    try:
        base64.b64decode(str(text), validate=True)
    except ValueError:
        return False
    return True


IMPORT = Job(
    "import",
    "Which rows of files were sent to a topic?",
    run,
    ("path", "format", "names", "topic", *FIELDS, "body_as", "run"),
)
