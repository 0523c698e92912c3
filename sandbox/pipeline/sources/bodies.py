"""Bodies of messages as columns: JSON, Avro records or text; bodies of no such form are kept apart.

A Python data source has to declare its columns before it reads, so this is a function of rows that have been read.
The body's fields and `_malformed` replace the column `body`.  `_malformed` is the whole body if it cannot be read
that way, and then every field is null; otherwise it is null.  A field with the name of a column of the message
becomes `body_<name>`.
"""

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from sandbox.pipeline.sources.avro_bodies import WrongBodies, avro_schema, decoded, fields_of
from sandbox.pipeline.sources.records import BODY, SCHEMA, STORE
from sandbox.pipeline.spark.error_text import of_spark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

KINDS = ("json", "variant", "avro", "text")
MALFORMED = "_malformed"
OPTIONS = ("body", "bodySchema")
SAMPLE = 10_000  # bodies whose fields are the columns, where none are named
_TEXT = "_text"


class Bodies(NamedTuple):
    """The format of bodies.

    `schema`: columns of JSON, also as DDL, or the JSON of an Avro schema; None to infer it or if the format has none.
    """

    kind: str
    schema: "StructType | str | None" = None


def bodies_of(options: Mapping[str, str]) -> Bodies | None:
    """Return the format in the options `body` and `bodySchema`.

    None if bodies stay as they are.  Raises WrongBodies.
    """
    schema = options.get("bodySchema") or None
    if not options.get("body"):
        if schema is not None:
            raise WrongBodies(f"bodySchema needs the format of bodies. Set --option body={'|'.join(KINDS)}.")
        return None
    if (kind := options["body"]) not in KINDS:
        raise WrongBodies(f"Unknown value --option body={kind}. Choose {', '.join(KINDS)}.")
    if kind == "avro" and schema is None:
        raise WrongBodies("Avro bodies need a schema. Set --option bodySchema=JSON.")
    if kind in ("text", "variant") and schema is not None:
        raise WrongBodies(f"{kind.capitalize()} bodies have no columns. Remove bodySchema, or set --option body=json.")
    return Bodies(kind, schema)


def with_bodies(rows: "DataFrame", bodies: Bodies | None) -> "DataFrame":
    """Return the rows with columns for their bodies; `rows` have a column `body` of bytes.  Raises WrongBodies."""
    if bodies is None:
        return rows
    if bodies.kind == "avro":
        return _with_avro(rows, str(bodies.schema))
    if bodies.kind == "variant":
        return _with_variant(rows)
    return _with_text(rows) if bodies.kind == "text" else _with_json(rows, bodies.schema)


def fields_in(schema: "StructType") -> "StructType":
    """Return the fields of bodies in a table that `with_bodies` made."""
    from pyspark.sql.types import StructField, StructType

    own = {STORE, MALFORMED, *SCHEMA.names} - {BODY}
    return StructType(
        [StructField(_field_of(field.name, own), field.dataType) for field in schema.fields if field.name not in own]
    )


def _field_of(column: str, own: Set[str]) -> str:
    field = column.removeprefix(f"{BODY}_")
    return field if field.lower() in (name.lower() for name in own) else column


def _with_text(rows: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as f

    texts = rows.withColumn(_TEXT, _text())
    return texts.select(*_others(rows), f.col(_TEXT).alias(BODY), _malformed(f.col(_TEXT).isNull()))


def _with_json(rows: "DataFrame", schema: "StructType | str | None") -> "DataFrame":
    """Return the rows with columns for their JSON bodies.

    Each is parsed inside an outer object and counted inside an outer list, so that a body with text after its own
    object is malformed too.
    """
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType, StructField, StructType

    fields = _inferred(rows) if schema is None else _of_ddl(schema) if isinstance(schema, str) else schema
    options = {"columnNameOfCorruptRecord": MALFORMED, "allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
    kind = StructType([StructField(BODY, fields), StructField(MALFORMED, StringType())])
    read = rows.withColumn(_TEXT, f.from_json(_wrapped(), kind, options))
    bad = f.col(f"{_TEXT}.{MALFORMED}").isNotNull() | f.col(f"{_TEXT}.{BODY}").isNull() | ~_is_single()
    bad = f.coalesce(bad, f.lit(True))
    names = _named(fields.fieldNames(), rows.columns)
    columns = [f.when(~bad, f.col(f"{_TEXT}.{BODY}").getField(name)).alias(names[name]) for name in fields.fieldNames()]
    return read.select(*_others(rows), *columns, _malformed(bad))


def _with_variant(rows: "DataFrame") -> "DataFrame":
    """Return the rows with their JSON bodies as VARIANT: any JSON value, without a schema."""
    from pyspark.sql import functions as f

    read = rows.withColumn(_TEXT, f.try_parse_json(_wrapped()))
    bad = f.coalesce(f.col(_TEXT).isNull() | ~_is_single(), f.lit(True))
    value = f.when(~bad, f.variant_get(_TEXT, f"$.{BODY}", "variant")).alias(BODY)
    return read.select(*_others(rows), value, _malformed(bad))


def _wrapped() -> "Column":
    """Return the body as text inside an outer object."""
    from pyspark.sql import functions as f

    return f.concat(f.lit(f'{{"{BODY}":'), _text(), f.lit("}"))


def _is_single() -> "Column":
    """Return true for a body that is one JSON value.

    Spark's parsers ignore text after the first value.  After a value, an outer object continues only with a comma
    or a brace, and an outer list only with a comma or a bracket; after a comma the list has another element.
    """
    from pyspark.sql import functions as f

    return f.json_array_length(f.concat(f.lit("["), _text(), f.lit("]"))) == 1


def _with_avro(rows: "DataFrame", text: str) -> "DataFrame":
    schema = avro_schema(text)
    names = _named(list(fields_of(schema)), rows.columns)
    return decoded(rows, schema, names, MALFORMED)


def _inferred(rows: "DataFrame") -> "StructType":
    """Return the schema that Spark's JSON reader infers from the first bodies.  Raises WrongBodies."""
    from pyspark.sql import functions as f

    objects = rows.select(_text().alias(_TEXT)).limit(SAMPLE).where(f.col(_TEXT).rlike(r"^\s*\{"))
    schema = rows.sparkSession.read.json(objects, mode="DROPMALFORMED").schema
    if not schema.fields:
        raise WrongBodies(
            f"None of the first {SAMPLE} bodies is a JSON object with a field. Name the columns with "
            '--option bodySchema, such as "carrier STRING, miles BIGINT".'
        )
    return schema


def _of_ddl(ddl: str) -> "StructType":
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        schema = StructType.fromDDL(ddl)
    except PySparkException as error:
        raise WrongBodies(
            of_spark(str(error), of="bodySchema") or f"bodySchema {ddl} is not a list of columns."
        ) from None
    if not isinstance(schema, StructType):
        raise WrongBodies(f"bodySchema {ddl} is not a list of columns. Write the name and type of each.")
    return schema


def _named(fields: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the column name of each field.  Raises WrongBodies if two fields would have the same column."""
    taken = {MALFORMED, *(name.lower() for name in columns if name != BODY)}
    names: dict[str, str] = {}
    for field in fields:
        name = f"{BODY}_{field}" if field.lower() in taken else field
        if name.lower() in (other.lower() for other in names.values()):
            raise WrongBodies(f"Bodies have two fields for the column {name.lower()}. Name one of them in bodySchema.")
        names[field] = name
    return names


def _text() -> "Column":
    """Return the body as text, null if it is not UTF-8."""
    from pyspark.sql import functions as f

    return f.try_validate_utf8(f.col(BODY).cast("string"))


def _malformed(is_so: "Column") -> "Column":
    from pyspark.sql import functions as f

    return f.when(is_so, f.col(BODY)).alias(MALFORMED)


def _others(rows: "DataFrame") -> list[str]:
    return [name for name in rows.columns if name != BODY]
