"""The import graph of QueueViz's JavaScript modules, read from their sources."""

import re
from functools import cache

from django.conf import settings

IMPORT = re.compile(r"""^import\b[^;"']*["']\./(\w+\.js)["'];""", re.MULTILINE)


@cache
def imported(name: str) -> tuple[str, ...]:
    """Return the modules that a module imports, directly or not, without `name`, in the order of first import.

    Dynamic imports are left out.
    """
    names = [name]
    for module in names:  # grows
        source = (settings.SITE / f"static/queueviz/js/{module}").read_text("utf-8")
        names += [other for other in IMPORT.findall(source) if other not in names]
    return tuple(names[1:])
