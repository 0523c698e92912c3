"""Which of our modules a page's module imports, directly or not, as their sources say."""

import re
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders

IMPORT = re.compile(r"""^import\b[^;"']*["']\./(\w+\.js)["'];""", re.MULTILINE)


@cache
def imported(name: str) -> tuple[str, ...]:
    """Without `name` itself, in the order in which they are first named; what is imported on demand is left out."""
    found = [name]
    for module in found:  # grows
        source = Path(str(finders.find(f"queueviz/js/{module}"))).read_text("utf-8")
        found += [other for other in IMPORT.findall(source) if other not in found]
    return tuple(found[1:])
