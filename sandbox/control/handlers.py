"""Which function takes which kind of action or question, by its annotations."""

from collections.abc import Callable, Iterable
from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from typing import Any


def handlers(package: str, path: Iterable[str], base: type, returns: Any = None) -> dict[Any, Callable[..., Any]]:
    """Return the public functions `(cluster, …: KIND) -> returns` of the package's modules, by kind of `base`.

    `returns`: None is anything.

    Raises TypeError, with the package's import: a kind that no function takes, or that two take.
    """
    families = [import_module(f"{package}.{module.name}") for module in iter_modules(path)]
    table: dict[Any, Callable[..., Any]] = {}
    for family in families:
        for function in vars(family).values():
            is_own = getattr(function, "__module__", "") == family.__name__
            taken: Any = _kind(function, base, returns) if is_own else None
            if taken is not None and taken in table:
                raise TypeError(f"{taken.__name__} is taken by {table[taken].__qualname__} and {function.__qualname__}")
            if taken is not None:
                table[taken] = function
    kinds: list[type] = base.__subclasses__()
    if missing := sorted(kind.__name__ for kind in kinds if kind not in table):
        raise TypeError(f"no public function of {package} takes {', '.join(missing)}")
    return table


def _kind(function: Any, base: type, returns: Any) -> Any:
    """The kind that a function takes; None: it is no handler."""
    if not isfunction(function) or function.__name__.startswith("_"):
        return None
    names = [*function.__annotations__]
    if len(names) != 3 or names[0] != "cluster" or names[2] != "return":
        return None
    kind, result = function.__annotations__[names[1]], function.__annotations__["return"]
    is_kind = isinstance(kind, type) and issubclass(kind, base) and kind is not base
    return kind if is_kind and returns in (None, result) else None
