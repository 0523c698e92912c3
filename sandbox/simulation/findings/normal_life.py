"""What happens in a healthy cluster: deploys, new members, more queues, bursts, pauses of a producer."""

from sandbox.kernel.chance import Chance
from sandbox.simulation.findings.plants import Act
from sandbox.simulation.findings.stage import GROUP, SHOP, TOPIC, Stage

BETWEEN_S = (40.0, 110.0)


def normal_acts(stage: Stage, chance: Chance, seconds: float) -> list[Act]:
    """Draw ordinary events for so long; the cluster settles between them and before the end."""
    acts: list[Act] = []
    at_s, queues, members = 20.0, stage.queues, list(stage.members)
    while at_s < seconds - 90:
        kind = chance.choice(("deploy", "member", "burst", "queues", "pause", "nothing"))
        if kind == "deploy":  # a rolling restart, one member after the other
            for number, label in enumerate(members):
                begin_s = at_s + 25.0 * number
                acts += [_act("StopActor", begin_s, actor=label), _act("RestartActor", begin_s + 5.0, actor=label)]
            at_s += 25.0 * len(members)
        elif kind == "member" and len(members) < queues:
            label = "HIJKLMN"[len(members)]
            acts.append(_act("StartConsumer", at_s, actor=label, group=GROUP))
            members.append(label)
        elif kind == "burst":
            acts.append(_act("SendMessages", at_s, topic=TOPIC, count=20 + chance.below(80), key="burst-{n}"))
        elif kind == "queues" and queues < 12:
            queues += 2
            acts.append(_act("ChangeTopic", at_s, topic=TOPIC, write_queues=queues, read_queues=queues))
        elif kind == "pause":
            acts += [_act("StopActor", at_s, actor=SHOP), _act("RestartActor", at_s + 30.0, actor=SHOP)]
        at_s += chance.between(*BETWEEN_S)
    return acts


def _act(name: str, after_s: float, **fields: object) -> Act:
    return Act(after_s, name, fields)
