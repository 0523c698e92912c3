"""Words of the player and of its timeline: for pages that have one, and not for the first view of others."""

from typing import Any

from django.utils.translation import gettext_lazy as _

PLAYER_WORDS: dict[str, Any] = {
    "timeline.label": _("Event"),
    "timeline.event": _("event #{seq}"),
    "timeline.apart": _("cannot be executed again: {why}"),
    "stretch.kill": _("the server was killed"),
    "stretch.ports": _("ports were open"),
    "stretch.disk": _("the disk was full"),
    "stretch.engine": _("another release of the engine went on"),
    "stretch.origin": _("its origin cannot be read"),
    "stretch.files": _("a broker's files were damaged from outside"),
    "stretch.made before": _("an earlier release recorded it"),
    "stretch.trimmed": _("its beginning was deleted"),
    "stretch.beginning not kept": _("its beginning was not kept"),
    "stretch.unknown": _("unknown"),
    "player.play": _("Play"),
    "player.pause": _("Pause"),
    "player.desc": _("{n} queues with their offsets, their owners and their lag"),
    "player.bad empty": _("This recording is empty. Ask for another one."),
    "player.bad cut": _(
        "This recording is cut off: a part of it is missing. Load the page again, or ask for another one."
    ),
    "player.bad damaged": _("This recording is damaged here and cannot be played. Ask for another one."),
    "player.bad other": _("This file is not a recording. Ask for another one."),
    "player.bad version": _("This recording is of another release of QueueViz. Open it there, or ask for a new one."),
    "player.bad unreachable": _("The recording cannot be loaded. Load the page again."),
    "player.too long": _("A moving picture lasts 30 s at most."),
    "player.too many queues": _("These are too many queues for a moving picture."),
}
