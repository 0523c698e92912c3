"""Which function takes which kind of action or question, by its annotations."""

from collections.abc import Callable, Iterable
from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from typing import Any


def handlers(package: str, path: Iterable[str], parameter: str) -> dict[Any, Callable[..., Any]]:
    """By the type of `parameter`: public functions `(cluster, parameter: KIND) -> …` of the package's modules."""
    families = [import_module(f"{package}.{found.name}") for found in iter_modules(path)]
    return {function.__annotations__[parameter]: function for family in families for function in vars(family).values()
            if isfunction(function) and [*function.__annotations__] == ["cluster", parameter, "return"]
            and not function.__name__.startswith("_")}
