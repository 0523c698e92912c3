"""The import graph of QueueViz's JavaScript modules, read from their sources."""

import json
import re
from functools import cache

from django.conf import settings

IMPORT = re.compile(r"""^import\b[^;"']*["']\./(\w+\.js)["'];""", re.MULTILINE)
SCRIPTS = "static/queueviz/js"
WRITTEN = f"{SCRIPTS}/imports.json"  # `direct_imports`, in an archive without the sources


@cache
def imported(name: str) -> tuple[str, ...]:
    """Return the modules that a module imports, directly or not, without `name`, in the order of first import.

    Dynamic imports are left out.
    """
    names, written = [name], _written()
    for module in names:  # grows
        names += [other for other in (written[module] if written else _read(module)) if other not in names]
    return tuple(names[1:])


def direct_imports() -> dict[str, list[str]]:
    """Return the modules that each module imports itself."""
    return {path.name: _read(path.name) for path in sorted((settings.SITE / SCRIPTS).glob("*.js"))}


def _read(module: str) -> list[str]:
    return IMPORT.findall((settings.SITE / f"{SCRIPTS}/{module}").read_text("utf-8"))


@cache
def _written() -> dict[str, list[str]]:
    file = settings.SITE / WRITTEN
    return json.loads(file.read_text("utf-8")) if file.exists() else {}
