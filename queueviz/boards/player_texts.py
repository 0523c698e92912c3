"""Texts of the replay player and its timeline, loaded only on pages that have one."""

from django.utils.translation import gettext_lazy as _

from queueviz.texts import Texts

PLAYER_WORDS: Texts = {
    "timeline.label": _("Event"),
    "timeline.event": _("event #{seq}"),
    "timeline.apart": _("cannot be replayed: {why}"),
    "stretch.kill": _("the server was killed"),
    "stretch.ports": _("ports were open"),
    "stretch.disk": _("the disk was full"),
    "stretch.engine": _("another release of the engine continued the run"),
    "stretch.origin": _("the origin of the run is not readable"),
    "stretch.files": _("a broker's files were damaged from outside"),
    "stretch.made before": _("an earlier release recorded the run"),
    "stretch.trimmed": _("the beginning of the run was deleted"),
    "stretch.beginning not kept": _("the beginning of the run was not retained"),
    "stretch.unknown": _("unknown"),
    "player.open": _("Open findings: {names}"),
    "player.play": _("Play"),
    "player.pause": _("Pause"),
    "player.desc": _("{n} queues with their offsets, their owners and their lag"),
    "player.bad empty": _("This recording is empty. Request another one."),
    "player.bad cut": _(
        "This recording is incomplete: some of its data is missing. Reload the page, or request another recording."
    ),
    "player.bad damaged": _("This recording is damaged at this point and cannot be played. Request another one."),
    "player.bad other": _("This file is not a recording. Request another one."),
    "player.bad version": _(
        "This recording was made by another release of QueueViz. Open it in that release, or request a new recording."
    ),
    "player.bad unreachable": _("The recording cannot be loaded. Reload the page."),
    "player.too long": _("An animation lasts 30 s at most."),
    "player.too many queues": _("Too many queues for an animation."),
}
