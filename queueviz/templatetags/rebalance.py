"""`{% plan_picture answer as p %}`: the drawing of a plan's assignment."""

from __future__ import annotations

from django import template

from queueviz.boards.live_fields import word
from queueviz.boards.rebalance_picture import Picture, picture
from queueviz.boards.rebalance_views import Names
from queueviz.templatetags.formats import UNKNOWN
from sandbox.queries.rows.plans import RebalancePlan

register = template.Library()

NEARBY = "MACHINE_ROOM_NEARBY-AVG"


@register.simple_tag
def plan_picture(answer: RebalancePlan) -> Picture:
    return picture(answer)


@register.filter
def strategy_word(name: str | None) -> str:
    """Return the strategy's usual name.  A user-defined strategy keeps its class name."""
    return word(f"strategy.{'MACHINE_ROOM_NEARBY' if name == NEARBY else name}") if name else UNKNOWN


@register.filter
def trigger_word(trigger: str | None) -> str:
    return word(f"trigger.{trigger}") if trigger else UNKNOWN


@register.simple_tag
def letters(names: Names, client_ids: list[str]) -> list[dict[str, str]]:
    """Return the badges (client id, letter, colour class) of members."""
    return [
        {"id": client_id, "letter": names.who(client_id), "me": names.colour(client_id)} for client_id in client_ids
    ]
