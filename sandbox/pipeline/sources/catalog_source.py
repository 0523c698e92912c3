"""A data source whose tables in Spark's catalog work: CREATE TABLE t USING `rocketmq-store` OPTIONS (path '…').

Spark 4.3 passes the options of a table to a Python source when the table is created.  For a query it passes only the
table's schema and the options of the query.  So the metadata of the schema's first column holds the table's options.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import CaseInsensitiveDict, DataSource

from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.local_directories import PATHS
from sandbox.pipeline.sources.portable_source import reduced

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

OF_CATALOG = {"provider", "owner"}  # in the options of each CREATE TABLE; others depend on its clauses
PREFIX = "option."
"""Before the names of the user's options, which Spark passes with and without it; TBLPROPERTIES have no prefix."""
SECRET = "secretKey"
SOURCES = ("path", PATHS, "stores", "journals", "names")
"""Options that name a source."""


class CatalogSource(DataSource):
    """A data source with options that its tables keep.

    `missing`: the sentence for a read without options.  `refusal`: the sentence for writes, if it has no sink.
    """

    missing: ClassVar[str]
    refusal: ClassVar[str] = ""

    @abstractmethod
    def columns(self, options: Mapping[str, str]) -> pa.Schema:
        """Return the columns that the options choose.  Raises ValueError for an unknown option."""

    @abstractmethod
    def ddl(self, columns: pa.Schema) -> str:
        """Return the columns in Spark's DDL."""

    @reports_errors
    def schema(self) -> "str | StructType":
        created = of_creation(self.options)
        if created is None:
            return self.ddl(self.columns(self.options))
        return with_options(self.columns(created), self._key, created)

    def options_with(self, schema: "StructType | None") -> Mapping[str, str]:
        """Return the options of a read or write, with those of its table.  Raises ValueError if there are none."""
        options = of_query(self.options, self._key, schema)
        if not options:
            raise ValueError(f"{self.missing} Spark passes no options to a table with a list of columns.")
        return options

    @property
    def _key(self) -> str:
        return f"{self.name()}.options"

    @reports_errors
    def writer(self, schema: Any, overwrite: bool) -> Any:
        """Refuse INSERT INTO and `write`.  Raises ValueError."""
        self._refuse()

    @reports_errors
    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        """Refuse `writeStream`.  Raises ValueError."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(self.refusal)

    def __reduce__(self) -> Any:
        return reduced(self)


def of_creation(options: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return the user's options of a CREATE TABLE, or None if these are the options of a read.

    Raises ValueError for a key, which any reader of the schema could see.
    """
    if not set(options) >= OF_CATALOG:
        return None
    created = {name.removeprefix(PREFIX): value for name, value in options.items() if name.startswith(PREFIX)}
    if "path" in options:  # of OPTIONS, or LOCATION
        created["path"] = options["path"]
    if SECRET.lower() in created:
        raise ValueError(
            f"Remove {SECRET}: the schema of a table, which is readable, holds its options. "
            f'Set it for each query: spark.read.option("{SECRET}", …).table(…).'
        )
    return CaseInsensitiveDict(created)


def with_options(columns: pa.Schema, key: str, options: Mapping[str, str]) -> "StructType":
    """Return the columns as Spark's, with the options below `key` in the metadata of the first one."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(columns)
    schema[0].metadata = {key: dict(options)}
    return schema


def of_query(options: Mapping[str, str], key: str, schema: "StructType | None") -> Mapping[str, str]:
    """Return the options of a query, and those of its table, which the schema holds.

    The options of `load` and `save` name a source.  Then the schema is that of other rows.
    """
    if schema is None or any(name in options for name in SOURCES):
        return options
    for field in schema.fields:
        if key in (field.metadata or {}):
            return CaseInsensitiveDict({**field.metadata[key], **options})
    return options
