"""Words of the Groups page."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.counted import Counted

GROUP: dict[str, Any] = {
    "group.behind": _("Behind"),
    "group.nobody": _("No members"),
    "group.retrying": _("Retrying"),
    "group.differs": _("Delivered ≠ consumed"),
    "group.unknown": _("Not known yet"),
    "group.ok": _("Keeps up"),
    "group.quiet": _("Nothing to do"),
    "group.none": _("none"),
    "group.more": _("+{n} not consumed"),
    "group.sorted": _("Sorted by {column}"),
    "group.found": Counted(lambda n: ngettext("{n} group found", "{n} groups found", n)),
}
