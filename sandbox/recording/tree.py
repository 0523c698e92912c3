"""States as trees of JSON: the differences of two trees, and how to apply them.

Leaves are non-mappings and empty mappings.  A list is one leaf.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.kernel.errors import BadRecording

Path = tuple[str, ...]
Tree = dict[str, Any]

GONE = object()
DEEPEST = 12  # keys of a path


def changes(old: Mapping[str, object], new: Mapping[str, object], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the leaves that differ, with their new values or GONE."""
    for key in sorted(old.keys() - new.keys()):
        yield (*path, key), GONE
    for key in sorted(new):
        before, value = old.get(key, GONE), new[key]
        if isinstance(value, Mapping) and (value or isinstance(before, Mapping)):
            yield from changes(before if isinstance(before, Mapping) else {}, value, (*path, key))
        elif type(value) is not type(before) or value != before:
            yield (*path, key), value


def put(tree: Tree, path: Path, value: Any) -> None:
    """Set a leaf; values on its path that are no maps become maps."""
    for key in path[:-1]:
        inner = tree.get(key)
        if not isinstance(inner, dict):
            inner = tree[key] = {}
        tree = inner
    tree[path[-1]] = value


def remove(tree: Tree, path: Path) -> None:
    """Remove the value at `path`.  Raises BadRecording if it does not exist."""
    inner: Any = tree
    for key in path[:-1]:
        inner = inner.get(key) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or path[-1] not in inner:
        raise BadRecording("A change removes a key that does not exist. Export it again.")
    del inner[path[-1]]


def copied(value: Any) -> Any:
    """Return a copy of the maps; leaves are shared, because they are never changed in place."""
    return {key: copied(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def path_of(value: Any) -> Path:
    """Return a path read from a file.  Raises BadRecording if it is no list of keys."""
    if not isinstance(value, list) or not 0 < len(value) <= DEEPEST or not all(type(key) is str for key in value):
        raise BadRecording("A path is not a list of keys. Export it again.")
    if "__proto__" in value:  # in a browser it is no key
        raise BadRecording("A path has the key __proto__, which no board has. Do not use this file.")
    return tuple(value)
