"""Action on the allocation strategy of a group."""

from dataclasses import replace

from sandbox.cluster.cluster import Cluster
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import SetStrategy
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.checked_strategy import checked_strategy


@executes(SetStrategy)
def set_strategy(cluster: Cluster, action: SetStrategy) -> CarryOut:
    """Set the strategy of all in-process members, from their next rebalance on, and of later members."""
    members = cluster.actors.consumers(action.group)
    if not members:
        raise ActionRefused(
            409, "The group {group} has no member here.", "Add a consumer first.", field="group", group=action.group
        )
    if any(member.settings.model == "BROADCASTING" for member in members):
        raise ActionRefused(
            422, "In a broadcasting group, each member reads all queues.", "Choose a clustering group.", field="group"
        )
    chosen = checked_strategy(cluster, action, action.strategy)

    def carry_out(seq: int, by: str) -> None:
        cluster.actors.strategies[action.group] = chosen
        for member in members:
            member.settings = replace(member.settings, strategy=action.strategy)
            if member.consumer is not None:
                member.consumer.strategy = cluster.actors.strategy_for(member.settings)

    return carry_out
