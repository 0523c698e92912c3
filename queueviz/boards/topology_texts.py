"""Texts and signs of the Topology page, for the templates and for the browser's live updates."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.texts import Texts

STATES: Texts = {
    "starting": _("starting"),
    "running": _("running"),
    "hung": _("hung"),
    "stopping": _("stopping"),
    "stopped": _("stopped"),
    "crashed": _("crashed"),
    "refused": _("refused"),
    "killed": _("killed"),
    "power_cut": _("power cut"),
    "damaged": _("damaged files"),
    "unreachable": _("no answer"),
    "unknown": _("not queried yet"),
}
SIGNS = {
    "starting": "◌",
    "running": "●",
    "hung": "‖",
    "stopping": "◌",
    "stopped": "■",
    "crashed": "✕",
    "refused": "✕",
    "killed": "✕",
    "power_cut": "↯",
    "damaged": "✕",
    "unreachable": "✕",
    "unknown": "?",
}
ROLES: Texts = {"master": _("master"), "slave": _("slave")}
LINKS: Texts = {
    "data": _("messages and heartbeats"),
    "route": _("routes"),
    "register": _("registration"),
    "replica": _("replication"),
}
REPLICAS: Texts = {"connected": _("connected"), "behind": _("behind"), "lost": _("lost")}
DISKS: Texts = {"ok": _("ok"), "full": _("full"), "failing": _("failing")}
WAYS: Texts = {
    "cut": _("cut"),
    "slow": _("{delay} slower"),
    "whole": _("open"),
    "none": _("no connection"),
}
VIEWS: Texts = {
    "heard": _("{age} ago"),
    "silent": _("no heartbeat for {age}"),
    "scan": _("removed by the scan in {left}"),
    "unknown": _("not registered"),
    "known": _("registered"),
    "knows": _("{server} lists {broker}; the last heartbeat is not reported"),
    "down": _("down: no data"),
    "sentence": _(
        "{server}: last heartbeat of {broker} {age} ago; without another heartbeat, the name server removes the "
        "broker in {left}"
    ),
    "nothing": _("{server} has no entry for {broker}"),
}
OTHERS: Texts = {
    "line": _("{a} to {b}, {kind}: {state}. Open the frames of this link."),
    "line.panel": _("{a} to {b}, {kind}: {state}. Select this link."),
    "behind": _("behind"),
    "alone": _("does not follow its master"),
}
FAMILIES = {
    "node.": STATES,
    "role.": ROLES,
    "link.": LINKS,
    "replica.": REPLICAS,
    "disk.": DISKS,
    "way.": WAYS,
    "view.": VIEWS,
    "topology.": OTHERS,
}
WORDS: Texts = {prefix + name: word for prefix, family in FAMILIES.items() for name, word in family.items()}


def topology_words() -> dict[str, str]:
    """Return the texts of the Topology page in the reader's language, ready for JSON."""
    return {name: str(word) for name, word in WORDS.items()}
