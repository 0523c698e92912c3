"""Executes typed actions: one module per family.

Every function validates first and changes later: it raises ActionRefused, or returns a function that makes the change,
to be called once the journal has the action.
"""

from collections.abc import Callable
from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.commands import (
    divide,
    faults,
    links,
    members,
    messages,
    offsets,
    redeliver,
    time,
    topology_changes,
    transactions,
    wire_clients,
)
from sandbox.commands.outcome import CarryOut
from sandbox.control import actions
from sandbox.control.actions import Action

_BY_KIND: dict[type, Callable[[Any, Any], CarryOut]] = {
    actions.StartProducer: members.start_producer,
    actions.StartConsumer: members.start_consumer,
    actions.ChangeActor: members.change,
    actions.StopActor: members.stop,
    actions.CrashActor: members.crash,
    actions.RestartActor: members.restart,
    actions.RemoveActor: members.remove,
    actions.HangActor: members.hang,
    actions.ResumeActor: members.resume,
    actions.SetStrategy: divide.set_strategy,
    actions.SendMessages: messages.send,
    actions.ResendMessage: redeliver.resend,
    actions.ConsumeOnce: redeliver.consume_once,
    actions.EndTransaction: transactions.end,
    actions.ResetOffsets: offsets.reset,
    actions.UndoReset: offsets.undo,
    actions.CreateTopic: topology_changes.create_topic,
    actions.ChangeTopic: topology_changes.change_topic,
    actions.DeleteTopic: topology_changes.delete_topic,
    actions.ChangeGroup: topology_changes.change_group,
    actions.ChangeBroker: topology_changes.change_broker,
    actions.AgeFiles: topology_changes.age_files,
    actions.CleanFiles: topology_changes.clean_files,
    actions.StartBroker: faults.start_broker,
    actions.StopBroker: faults.stop_broker,
    actions.KillBroker: faults.kill_broker,
    actions.HangBroker: faults.hang_broker,
    actions.ResumeBroker: faults.resume_broker,
    actions.PowerCut: faults.power_cut,
    actions.PromoteSlave: faults.promote_slave,
    actions.SkewClock: faults.skew_clock,
    actions.FillDisk: faults.fill_disk,
    actions.FreeDisk: faults.free_disk,
    actions.StartNameServer: faults.start_name_server,
    actions.StopNameServer: faults.stop_name_server,
    actions.CutLink: links.cut,
    actions.HealLink: links.heal,
    actions.DelayLink: links.slow,
    actions.CutConnection: wire_clients.cut,
    actions.ForceUnlock: faults.force_unlock,
    actions.SetRate: time.set_rate,
    actions.Step: time.step,
}


def prepare(cluster: Cluster, action: Action) -> CarryOut:
    """Raises ActionRefused; then nothing has changed."""
    return _BY_KIND[type(action)](cluster, action)
