"""Import graph of the repository's Python files, read from their text: nothing is imported."""

import ast
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("sandbox", "queueviz", "tests")

Graph = Mapping[str, frozenset[str]]  # path → paths it imports, relative to the root, as git writes them


def read_graph(root: Path = ROOT) -> Graph:
    """Return the imports of each Python file of `PACKAGES`, also those inside of functions."""
    paths = [
        path.relative_to(root).as_posix() for package in PACKAGES for path in sorted((root / package).rglob("*.py"))
    ]
    files = frozenset(paths)
    return {path: frozenset(_imports(path, (root / path).read_text(), files)) for path in paths}


def importers(graph: Graph) -> dict[str, set[str]]:
    """Return the same graph the other way round: path → paths that import it."""
    result: dict[str, set[str]] = {path: set() for path in graph}
    for path, imports in graph.items():
        for imported in imports:
            result[imported].add(path)
    return result


def distances(edges: Mapping[str, set[str]], start: str) -> dict[str, int]:
    """Return how many edges each reachable path is away from `start`."""
    result, queue = {start: 0}, deque([start])
    while queue:
        path = queue.popleft()
        for neighbour in sorted(edges.get(path, ())):
            if neighbour not in result:
                result[neighbour] = result[path] + 1
                queue.append(neighbour)
    return result


def _imports(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            stem = name.replace(".", "/")
            yield from (file for file in (f"{stem}.py", f"{stem}/__init__.py") if file in files and file != path)
