"""The boards: every page with live drawings, by name, and the panels that htmx requests.

`BOARDS` maps the tab to its page.  `PARTS` maps the name in `/s/<slug>/part/<name>/` to its panel.  A page's table
twin is a part under the page's own name.  `page.py` shows how a view uses them.
"""

from queueviz.boards.registry import BOARDS, PARTS, TABS, part_of

__all__ = ["BOARDS", "PARTS", "TABS", "part_of"]
