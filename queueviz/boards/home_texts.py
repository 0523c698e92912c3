"""Sentences of the first page's modules: the suggested click, its consequences, and the members' cards."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from queueviz.boards.counted import CountedTexts

HOME: CountedTexts = {
    "conn.connected": pgettext_lazy("connection", "Live"),
    "home.real": _("Try it: this broker is real."),
    "home.returns": _("It restarts by itself in {left}."),
    "home.crashed": _("{who} crashed."),
    "home.restarts": _("{who} is starting."),
    "home.awaited": _("Which member takes its queues is known within {left}."),
    "home.counted": _("Messages delivered again are counted for another {left}."),
    "home.crashed_by_other": _("Another visitor crashed {who}."),
    "home.sent": _("50 messages were sent. The lag rises, and falls as members consume them."),
    "home.slowed": _("{who} now needs 2 to 4 s for each message, for 30 s. Its queues fall behind."),
    "home.ago": _("{age} ago"),
    "home.no_queue": _("no queue"),
}
