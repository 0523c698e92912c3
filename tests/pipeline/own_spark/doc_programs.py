"""A program for an installed `queueviz-spark`: runs the Python and SQL blocks of the pages one after the other.

Standard input: JSON [[name, language, text], …].  It prints the result of each statement.  The names of one block are
those of the next, as in a notebook.
"""

import ast
import importlib.util
import json
import pkgutil
import sys
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

import sandbox.pipeline


def main() -> None:
    names: dict[str, Any] = {}
    for name, language, text in json.load(sys.stdin):
        print(f"## {name}", flush=True)
        try:
            if language == "sql":
                for statement in filter(str.strip, text.split(";\n")):
                    print([tuple(row) for row in names["spark"].sql(statement.strip().rstrip(";")).collect()])
            else:
                run(name, text, names)
        except Exception as error:
            sys.exit(f"{name}: {error}")
    assert importlib.util.find_spec("django") is None
    for module in pkgutil.walk_packages(sandbox.pipeline.__path__, "sandbox.pipeline."):
        importlib.import_module(module.name)  # the wheel has all packages that it imports


def run(name: str, text: str, names: dict[str, Any]) -> None:
    """Execute a block, and use each value that a statement leaves."""
    if "SparkSession.builder" in text:  # of a program without QueueViz: it does not continue another session
        names.pop("spark").stop()
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Expr):
            use(name, eval(compile(ast.Expression(statement.value), name, "eval"), names))
        else:
            exec(compile(ast.Module([statement], []), name, "exec"), names)


def use(name: str, value: Any) -> None:
    if isinstance(value, DataFrame) and not value.isStreaming:
        print(f"{len(value.collect())} rows of {', '.join(value.columns)}", flush=True)
    elif isinstance(value, DataFrame):
        query = value.writeStream.format("memory").queryName("rows").trigger(availableNow=True).start()
        query.awaitTermination()
        print(f"{value.sparkSession.table('rows').count()} rows of a stream", flush=True)
    elif isinstance(value, StreamingQuery):
        value.processAllAvailable()
        value.stop()
    elif value is not None:
        print(value, flush=True)


if __name__ == "__main__":
    main()
