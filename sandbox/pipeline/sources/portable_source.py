"""Pickling of a data source so that a process without QueueViz's code can read it.

A Spark Connect server plans a stream in a process of its own, which gets the pickled source, but not the session's
archives (`PythonStreamingSourceRunner`, 4.3).  The process that pickles it has our code, so it adds the path.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def reduced(source: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the value for a data source's `__reduce__`: any process recreates the source from its options."""

    def made(root: str, module: str, name: str, options: Any) -> Any:  # pickled by value: none of our names is needed
        import importlib
        import importlib.util
        import sys

        if importlib.util.find_spec("sandbox") is None:
            sys.path.append(root)
        return getattr(importlib.import_module(module), name)(options)

    kind = type(source)
    return made, (str(Path(__file__).parents[3]), kind.__module__, kind.__qualname__, source.options)
