"""The modules that an archive for browsers holds: what the roots import, read from the sources without running them."""

import ast
from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

NOT_IN_A_BROWSER = frozenset({"sandbox.hosting.claimed_sandboxes"})
"""Modules that the engine imports only where engines share a data home: they need threads."""

WHOLE = ("sandbox.commands", "sandbox.queries.questions", "sandbox.queries.snapshot")
"""Packages whose modules are imported by their file names: one of them needs all."""


def modules_of(roots: Sequence[str], packages: Collection[str]) -> dict[str, Path]:
    """Return the path of each module below `packages` that the roots need, by name; with the packages around them.

    Imports inside functions count, those under TYPE_CHECKING do not.  Raises ModuleNotFoundError for a missing root.
    """
    paths: dict[str, Path] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in paths or name in NOT_IN_A_BROWSER or name.partition(".")[0] not in packages:
            continue
        path = _path_of(name)
        if path is None:
            if name in roots:
                raise ModuleNotFoundError(f"no module {name}", name=name)
            continue  # a name inside a module
        paths[name] = path
        if name in WHOLE:
            waiting += [f"{name}.{module.name}" for module in iter_modules([str(path.parent)])]
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting += [name.rpartition(".")[0], *_imported(ast.parse(path.read_bytes()), package)]
    return paths


def external_names(paths: Collection[Path], packages: Collection[str]) -> dict[str, list[Path]]:
    """Return the top-level names outside `packages` that these modules import, with the modules that import each."""
    names: dict[str, list[Path]] = {}
    for path in paths:
        for imported in {name.partition(".")[0] for name in _imported(ast.parse(path.read_bytes()), "")} - set(
            packages
        ):
            names.setdefault(imported, []).append(path)
    return names


def _path_of(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the names that a tree imports; of `from a import b` both `a` and `a.b`, which may be a module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parts = package.split(".")
                source = ".".join([*parts[: len(parts) - node.level + 1], *([source] if source else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for other in node.orelse:
                yield from _imported(other, package)
        else:
            yield from _imported(node, package)
