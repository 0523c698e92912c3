"""The import graph of QueueViz's JavaScript modules, read from their sources."""

import re
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders

IMPORT = re.compile(r"""^import\b[^;"']*["']\./(\w+\.js)["'];""", re.MULTILINE)


@cache
def imported(name: str) -> tuple[str, ...]:
    """Return the modules that a module imports, directly or not, without `name`, in the order of first import.

    Dynamic imports are left out.
    """
    names = [name]
    for module in names:  # grows
        source = Path(str(finders.find(f"queueviz/js/{module}"))).read_text("utf-8")
        names += [other for other in IMPORT.findall(source) if other not in names]
    return tuple(names[1:])
