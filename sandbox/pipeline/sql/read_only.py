"""The check of a query before it runs, by the plan of Spark's own parser: one SELECT, of QueueViz's tables only.

A query runs with the rights of the user who submits it.  Plan nodes outside `NODES` are refused, because they
change, run or open something: commands, INSERT, scripts, and SELECT TRANSFORM, which starts a program.  Also refused
are tables that are files (parquet.`/path`), names put together at run time, and functions that call Java or open a
file.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.spark.error_text import of_spark
from sandbox.pipeline.sql.plan_nodes import each, is_query, kind_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NODES = frozenset(
    {
        "Aggregate",
        "Distinct",
        "Except",
        "Filter",
        "Generate",
        "GlobalLimit",
        "Intersect",
        "Join",
        "LateralJoin",
        "LocalLimit",
        "LocalRelation",
        "Offset",
        "OneRowRelation",
        "PipeOperator",
        "Pivot",
        "Project",
        "RepartitionByExpression",
        "Sample",
        "Sort",
        "SubqueryAlias",
        "Union",
        "Unpivot",
        "UnresolvedHaving",
        "UnresolvedHint",
        "UnresolvedInlineTable",
        "UnresolvedRelation",
        "UnresolvedSubqueryColumnAliases",
        "UnresolvedTVFAliases",
        "UnresolvedTableValuedFunction",
        "UnresolvedWith",
        "WithWindowDefinition",
    }
)
PASSING = NODES - {
    "UnresolvedWith",
    "Union",
    "Intersect",
    "Except",
    "UnresolvedSubqueryColumnAliases",
    "PipeOperator",
    "Pivot",
    "Unpivot",
    "Distinct",
}
"""Nodes that need of their children only the columns they name, once a Project or Aggregate is above."""

RUNTIME_NAMES = frozenset({"PlanWithUnresolvedIdentifier", "ExpressionWithUnresolvedIdentifier"})
REFUSED = {
    "CallMethodViaReflection": "it can call any Java method",
    "TryReflect": "it can call any Java method",
    "FromProtobuf": "it opens a file",
    "ToProtobuf": "it opens a file",
}
"""Classes of functions, whatever name they are called by."""


class QueryRefused(SandboxError):
    """Error: the text is no query, or does more than read QueueViz's tables; the sentence says why."""


class Asked(NamedTuple):
    """The names in a query, in lower case.

    `tables`: all that it reads.  `named`: those of a WITH.  `columns`: all columns; None if it may need any.
    `narrowed`: options of the source of messages that leave out nothing that the query needs (`pushed_filters`).
    """

    tables: frozenset[str]
    named: frozenset[str]
    columns: frozenset[str] | None
    narrowed: Mapping[str, str] = MappingProxyType({})


def asked_of(session: "SparkSession", query: str) -> Asked:
    """Return the names in a query.  Raises QueryRefused, with the position if the query cannot be parsed."""
    from pyspark.errors import PySparkException

    if getattr(session, "_jsparkSession", None) is None:
        raise QueryRefused("A query needs the parser of a local session. Remove --remote.")
    state = session._jsparkSession.sessionState()
    try:
        reading = _Reading(state.catalog())
        reading.plan(state.sqlParser().parsePlan(query), narrow=False)
    except PySparkException as error:
        raise QueryRefused(of_spark(str(error)) or str(error).strip().splitlines()[0]) from None
    return Asked(
        frozenset(reading.tables), frozenset(reading.named), frozenset(reading.columns) if reading.is_narrow else None
    )


class _Reading:
    """A walk through an unresolved plan and all queries inside its expressions."""

    def __init__(self, catalog: Any) -> None:
        self._catalog = catalog
        self.tables: set[str] = set()
        self.named: set[str] = set()  # by a WITH
        self.columns: set[str] = set()
        self.is_narrow = True

    def plan(self, node: Any, *, narrow: bool) -> None:
        kind = kind_of(node)
        if kind in RUNTIME_NAMES:
            raise QueryRefused("IDENTIFIER is refused: a query must name its tables.")
        if kind not in NODES:
            raise QueryRefused(
                "A query must be one SELECT, or a WITH that ends in a SELECT. Spark's parser finds "
                f"{kind} in this query."
            )
        if kind == "UnresolvedRelation":
            self._table(node, narrow=narrow)
        elif kind == "UnresolvedWith":
            self.named |= {str(each.alias()).lower() for each in each(node.innerChildren())}
            for inner in each(node.innerChildren()):
                self.plan(inner, narrow=False)
        elif kind == "UnresolvedTableValuedFunction":
            self._function(_last(node.name()), self._catalog.lookupBuiltinOrTempTableFunction)
        elif kind == "WithWindowDefinition":  # `expressions` leaves out the values of a map
            for window in each(node.windowDefinitions().values()):
                self._expression(window)
        elif kind == "Join" and re.match("UsingJoin|NaturalJoin", node.joinType().toString()):
            self.is_narrow = False
        for expression in each(node.expressions()):
            self._expression(expression)
        narrow = kind in ("Project", "Aggregate") or (narrow and kind in PASSING)
        for child in each(node.children()):
            self.plan(child, narrow=narrow)

    def _table(self, node: Any, *, narrow: bool) -> None:
        parts = [str(part) for part in each(node.multipartIdentifier())]
        if len(parts) > 1 or not node.options().isEmpty() or node.isStreaming():
            raise QueryRefused(
                f"{'.'.join(parts)} is not a table of this query. It reads results, stores and journals by "
                "name and opens no files."
            )
        self.tables.add(parts[0].lower())
        self.is_narrow &= narrow

    def _expression(self, node: Any) -> None:
        kind = kind_of(node)
        if kind in RUNTIME_NAMES:
            raise QueryRefused("IDENTIFIER is refused: a query must name its functions.")
        if kind == "UnresolvedFunction":
            self._function(_last(node.nameParts()), self._catalog.lookupBuiltinOrTempFunction)
        elif kind == "UnresolvedAttribute":
            self.columns |= {str(part).lower() for part in each(node.nameParts())}
        elif kind.startswith(("UnresolvedStar", "UnresolvedRegex", "UnresolvedDataFrameStar")):
            self.is_narrow = False
        if is_query(node):
            self.plan(node.plan(), narrow=False)
        for child in each(node.children()):
            self._expression(child)

    def _function(self, name: str, look_up: Callable[[str], Any]) -> None:
        function = look_up(name)
        reason = REFUSED.get(function.get().getClassName().rpartition(".")[2]) if function.isDefined() else None
        if reason is not None:
            raise QueryRefused(f"{name} is refused: {reason}, and a query may only read tables.")


def check_resolved(plan: Any) -> None:
    """Check the expressions of a resolved plan by the same rules.  Raises QueryRefused."""
    for expression in each(plan.expressions()):
        _check_resolved(expression)
    for child in each(plan.children()):
        check_resolved(child)


def _check_resolved(node: Any) -> None:
    if (reason := REFUSED.get(kind_of(node))) is not None:
        raise QueryRefused(f"{node.prettyName()} is refused: {reason}, and a query may only read tables.")
    if is_query(node):
        check_resolved(node.plan())
    for child in each(node.children()):
        _check_resolved(child)


def _last(sequence: Any) -> str:
    return str(sequence.last())
