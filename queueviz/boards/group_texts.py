"""Texts of the Groups page."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.counted import Counted, CountedTexts
from queueviz.boards.fact_texts import VALUES
from queueviz.templatetags.formats import number
from sandbox.queries.rows.group_states import GroupState

LOOK_OF = {"error": "behind", "warning": "retrying"}  # the colours of a finding are those of a state
GROUP: CountedTexts = {
    "group.behind": _("Behind"),
    "group.nobody": _("No members"),
    "group.retrying": _("Retrying"),
    "group.differs": _("Delivered ≠ consumed"),
    "group.mixed": _("Members differ"),
    "group.unknown": _("Not reported yet"),
    "group.ok_partly": _("Healthy on known queues: {n} of {all}"),
    "group.quiet_partly": _("Nothing to do on known queues: {n} of {all}"),
    "group.ok": _("Healthy"),
    "group.quiet": _("Nothing to do"),
    "group.none": _("none"),
    "group.more": _("+{n} not consumed"),
    "group.sorted": _("Sorted by {column}"),
    "group.found": Counted(lambda n: ngettext("{n} group found", "{n} groups found", n)),
}


def state_text(row: GroupState) -> str:
    """Return the state of a group in words: its worst finding, else its figures.

    Twin of `stateWord` in static/queueviz/js/group_lines.js.
    """
    finding = row.get("finding")
    if finding is not None:
        return str(VALUES[finding["code"]])
    return str(GROUP[f"group.{row['state']}"]).format(n=number(row["queues_known"]), all=number(row["queues_all"]))
