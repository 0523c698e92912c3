"""The boards: every page with live drawings, by name, and the panels htmx asks for.

`BOARDS` maps the tab to its page, `PARTS` the name in `/s/<slug>/part/<name>/` to its panel; a page's table twin is a
part under the page's own name.  See `page.py` for how a view uses them.
"""

from queueviz.boards.registry import BOARDS, PARTS, TABS

__all__ = ["BOARDS", "PARTS", "TABS"]
