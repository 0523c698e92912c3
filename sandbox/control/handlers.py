"""Registry of the function for each kind of action or question, filled by a decorator and complete at import."""

from collections.abc import Callable, Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

Kind = TypeVar("Kind")
Result = TypeVar("Result")
Taking = TypeVar("Taking", bound=Callable[..., Any])


class Handlers(Generic[Kind, Result]):
    """Registry with one function `(cluster, kind) -> Result` for each subclass of `base`.

    >>> class Question: ...
    >>> class Newest(Question): ...
    >>> answers: Handlers[Question, int] = Handlers(Question)
    >>> @answers.takes(Newest)
    ... def newest(cluster: str, question: Newest) -> int:
    ...     return len(cluster)
    >>> answers.by_kind[Newest]("four", Newest())
    4
    """

    def __init__(self, base: type[Kind]) -> None:
        self._base = base
        self.by_kind: dict[type[Kind], Callable[[Any, Any], Result]] = {}

    def takes(self, kind: type[Kind]) -> Callable[[Taking], Taking]:
        """Register the decorated function for `kind`.  Raises TypeError if another one is registered."""

        def enter(function: Taking) -> Taking:
            if kind in self.by_kind:
                names = self.by_kind[kind].__qualname__, function.__qualname__
                raise TypeError(f"{kind.__name__} is taken by {names[0]} and {names[1]}")
            self.by_kind[kind] = function
            return function

        return enter

    def complete(self, package: str, path: Iterable[str]) -> None:
        """Import the modules of `package`.  Raises TypeError if a kind has no function afterwards."""
        for module in iter_modules(path):
            import_module(f"{package}.{module.name}")
        if missing := sorted(kind.__name__ for kind in self._base.__subclasses__() if kind not in self.by_kind):
            raise TypeError(f"no function of {package} takes {', '.join(missing)}")
