"""Events of a healthy cluster: deploys, new members, more queues, bursts, pauses of a producer."""

from sandbox.kernel.chance import Chance
from sandbox.simulation.findings.baseline import SHOP, TOPIC
from sandbox.simulation.findings.healthy_cluster import Crew, HealthyCluster
from sandbox.simulation.findings.plant import Act, act

BETWEEN_S = (40.0, 110.0)
SETTLE_S = 90.0  # between the last event and the end
MOST_LOAD = 0.85  # with more queues
MORE = "HIJKLMN"  # labels of new members


def normal_acts(healthy: HealthyCluster, chance: Chance, seconds: float) -> list[Act]:
    """Draw ordinary events for so long; the cluster settles between them and before the end."""
    acts: list[Act] = []
    at_s, queues = 20.0, healthy.queues
    members = {crew.group: list(crew.labels) for crew in healthy.crews}
    while at_s < seconds - SETTLE_S:
        crew = chance.choice(healthy.crews)
        labels = members[crew.group]
        kind = chance.choice(("deploy", "member", "burst", "queues", "pause", "nothing"))
        if kind == "deploy":
            acts += _deploy(chance, crew, labels, at_s)
            at_s = acts[-1].after_s
        elif kind == "member" and len(labels) < queues:
            label = next(label for label in MORE if all(label not in known for known in members.values()))
            acts.append(act("StartConsumer", at_s, actor=label, group=crew.group))
            labels.append(label)
        elif kind == "burst":
            acts.append(act("SendMessages", at_s, topic=TOPIC, count=20 + chance.below(80), key="burst-{n}"))
        elif kind == "queues" and _bearable(healthy, queues + 2, members):
            queues += 2
            acts.append(act("ChangeTopic", at_s, topic=TOPIC, write_queues=queues, read_queues=queues))
        elif kind == "pause":
            acts += [act("StopActor", at_s, actor=SHOP), act("RestartActor", at_s + 30.0, actor=SHOP)]
        at_s += chance.between(*BETWEEN_S)
    return acts


def _deploy(chance: Chance, crew: Crew, labels: list[str], at_s: float) -> list[Act]:
    """Restart one member after the other; each stays for at least 8 s before the next one stops.

    A member of an orderly group stays for longer than the 20 s for which it keeps the lock of a queue it lost: a lock
    whose holder stops before that is held for a minute, which is a trouble.
    """
    away_s, stays_s = chance.between(2.0, 5.0), chance.between(22.0 if crew.kind == "orderly" else 8.0, 30.0)
    acts = []
    for number, label in enumerate(labels):
        begin_s = at_s + (away_s + stays_s) * number
        acts += [act("StopActor", begin_s, actor=label), act("RestartActor", begin_s + away_s, actor=label)]
    return acts


def _bearable(healthy: HealthyCluster, queues: int, members: dict[str, list[str]]) -> bool:
    """Return True if no member is overloaded with so many queues."""

    def load(crew: Crew) -> float:
        return crew.load(healthy.rate_per_s, queues, len(members[crew.group]))

    return queues <= 12 and all(load(crew) <= MOST_LOAD for crew in healthy.crews)
