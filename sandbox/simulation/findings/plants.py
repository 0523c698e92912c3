"""Troubles that a run plants, by code, and the codes that are not planted."""

from sandbox.simulation.findings import plants_of_brokers, plants_of_members, plants_of_messages, plants_of_queues
from sandbox.simulation.findings.plant import Plant

PLANTS: dict[str, Plant] = {
    plant.code: plant
    for module in (plants_of_members, plants_of_messages, plants_of_queues, plants_of_brokers)
    for plant in module.PLANTS
}

NOT_PLANTED = {
    "clock_behind": "a run in virtual time reaches every rate: no machine is too busy for it",
}
"""Codes without a plant, with the reason."""


def kinds(*, alone: bool) -> list[str]:
    """Return the codes that can be planted, with or without those that are planted alone only."""
    return sorted(code for code, plant in PLANTS.items() if alone or not plant.alone)


def partners(code: str) -> list[str]:
    """Return the codes that can be planted in one run with a code, so that both can be found."""
    hides = PLANTS[code].hides
    return [
        other
        for other in kinds(alone=False)
        if other != code and other not in hides and code not in PLANTS[other].hides
    ]
