"""Actions on the sandbox's clock."""

from sandbox.cluster.cluster import Cluster
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import SetRate, Step
from sandbox.journal.events import BY_NAME, ClockChanged
from sandbox.kernel.errors import ActionRefused


@executes(SetRate)
def set_rate(cluster: Cluster, action: SetRate) -> CarryOut:
    _check_elastic(cluster)

    def carry_out(seq: int, by: str) -> None:
        cluster.steps.end()
        cluster.clock.set_rate(action.rate)
        cluster.journal.write(ClockChanged(action.rate, "action", cluster.environment.wall.now_ms()))

    return carry_out


@executes(Step)
def step(cluster: Cluster, action: Step) -> CarryOut:
    """Run until the next fact, the next event of the chosen type, or for `ms`; then pause again."""
    _check_elastic(cluster)
    if action.until not in ("fact", "ms") and action.until not in BY_NAME:
        raise ActionRefused(
            422, "Event {until} does not exist.", "Enter an event name, fact or ms.", field="until", until=action.until
        )

    def carry_out(seq: int, by: str) -> None:
        cluster.journal.write(ClockChanged(0.0, "action", cluster.environment.wall.now_ms()))
        cluster.steps.begin(action.until, action.ms)

    return carry_out


def _check_elastic(cluster: Cluster) -> None:
    """Raise ActionRefused (409) if an external client is connected, because its timeouts use its own clock."""
    if cluster.wire_clients():
        raise ActionRefused(
            409,
            "An external client has its own clock, so the speed stays at 1.",
            "Disconnect the client to change the speed.",
        )
