"""One short sentence per action, for the journal's `ActionTaken`; "…, by owner" is added to it.

A key may name a field too: `ChangeActor:slow_key` is taken when that field was given, `SetRate:rate=0` when it had that
value.  Values are named as the action names its fields.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.counted import Counted

ACTIONS: dict[str, Any] = {
    "StartProducer": _("a producer of {topic} started"),
    "StartProducer:actor": _("producer {actor} of {topic} started"),
    "StartConsumer": Counted(
        lambda n: ngettext("{copies} consumer of {group} started", "{copies} consumers of {group} started", n), "copies"
    ),
    "StartConsumer:actor": _("consumer {actor} of {group} started"),
    "ChangeActor": _("work of {actor} changed"),
    "ChangeActor:slow_key": _("{actor} takes {slow_ms} for {slow_key}"),
    "ChangeActor:slow_queue": _("{actor} takes {slow_ms} for the next message of {slow_queue}"),
    "ChangeActor:rate_per_s": _("{actor} sends {rate_per_s} messages per second"),
    "StopActor": _("{actor} stopped cleanly"),
    "CrashActor": _("{actor} crashed"),
    "RestartActor": _("{actor} restarted"),
    "RemoveActor": _("{actor} removed"),
    "HangActor": _("{actor} hung"),
    "ResumeActor": _("{actor} resumed"),
    "SendMessages": Counted(
        lambda n: ngettext("{rows} message sent to {topic}", "{rows} messages sent to {topic}", n), "rows"
    ),
    "SendMessages:count": Counted(
        lambda n: ngettext("{count} message sent to {topic}", "{count} messages sent to {topic}", n), "count"
    ),
    "ResendMessage": _("copy of {topic} {broker}:{queue_id} at {offset} sent"),
    "ConsumeOnce": _("{topic} {broker}:{queue_id} at {offset} given to {client_id} once more"),
    "EndTransaction:outcome=commit": _("transaction {transaction_id} committed"),
    "EndTransaction:outcome=rollback": _("transaction {transaction_id} rolled back"),
    "EndTransaction": _("transaction {transaction_id} ended"),
    "SetStrategy": _("{group} divides its queues by {strategy}"),
    "StartBroker:broker_id=0": _("{broker} started"),
    "StartBroker": _("slave {broker_id} of {broker} started"),
    "StopBroker:broker_id=0": _("{broker} stopped cleanly"),
    "StopBroker": _("slave {broker_id} of {broker} stopped cleanly"),
    "KillBroker:broker_id=0": _("{broker} killed"),
    "KillBroker": _("slave {broker_id} of {broker} killed"),
    "HangBroker:broker_id=0": _("{broker} hung"),
    "HangBroker": _("slave {broker_id} of {broker} hung"),
    "ResumeBroker:broker_id=0": _("{broker} resumed"),
    "ResumeBroker": _("slave {broker_id} of {broker} resumed"),
    "PowerCut:broker_id=0": _("power of {broker} cut"),
    "PowerCut": _("power of slave {broker_id} of {broker} cut"),
    "PromoteSlave": _("slave {broker_id} of {broker} made its master by hand"),
    "SkewClock:skew_ms=0": _("clock of {broker} set right"),
    "SkewClock": _("clock of {broker} set wrong by {skew_ms}"),
    "StartNameServer": _("{name_server} started"),
    "StopNameServer": _("{name_server} stopped"),
    "CutLink:one_way=true": _("link from {a} to {b} cut, this way only"),
    "CutLink": _("link between {a} and {b} cut"),
    "HealLink": _("link between {a} and {b} healed"),
    "DelayLink:one_way=true": _("link from {a} to {b} slowed by {delay_ms}, this way only"),
    "DelayLink": _("link between {a} and {b} slowed by {delay_ms}"),
    "CutConnection": _("connection of {client_id} cut"),
    "ForceUnlock": _("lock of {group} on {broker}:{queue_id} taken away by force"),
    "FillDisk": _("disk of {broker} filled"),
    "FreeDisk": _("disk of {broker} freed"),
    "ResetOffsets": _("offsets of {group} on {topic} reset"),
    "UndoReset": _("reset undone"),
    "CreateTopic": _("topic {topic} created"),
    "ChangeTopic": _("topic {topic} changed"),
    "DeleteTopic": _("topic {topic} deleted"),
    "ChangeGroup": _("settings of {group} changed"),
    "ChangeBroker": _("settings of {broker} changed"),
    "AgeFiles": _("files of {broker} made {hours} h older"),
    "CleanFiles": _("old files of {broker} deleted"),
    "SetRate": _("clock set to {rate}×"),
    "SetRate:rate=0": _("world stopped"),
    "Step": _("world run one step"),
}

ROLES: dict[str, Any] = {
    "owner": _("owner"),
    "editor": _("editor"),
    "viewer": _("viewer"),
    "student": _("student"),
    "instructor": _("instructor"),
    "operator": _("operator"),
    "template": _("the stage"),
    "token": _("a program"),
}
