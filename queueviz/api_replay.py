"""The JSON API of the past: a sandbox as it was at an event."""

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Router

from queueviz import access, engine, visitor
from queueviz.api import JSON, REFUSALS, api
from queueviz.rates import Rate
from sandbox.control.limits import HostLimits

LIMITS = HostLimits()
STATES = Rate(LIMITS.states_per_s, LIMITS.states_per_s, what="states")

router = Router(tags=["replay"])


@router.get("/{slug:slug}/state", response={200: dict[str, Any]} | REFUSALS, summary="Everything about it, at an event")
def state(request: HttpRequest, slug: str, at: int | None = None) -> HttpResponse:
    """Without `at`, at the newest. `seq` is the newest event at or before `at`. The `snapshot` is folded from the
    keyframe `keyframe`: `carried` names the fields of the queues in `topics` and `groups/<name>` that hold at the
    event, `of_keyframe` those that are as old as the keyframe; under `snapshot`, the lists and fields beside both."""
    who = visitor.of_request(request)
    sandbox = access.sandbox_for(who, slug, "see")
    STATES.demand(access.counted_as(who))
    found = engine.answer(engine.port().state_at(slug, at))
    whole = {**found.snapshot, "sandbox": {**found.snapshot["sandbox"], "slug": slug, "name": sandbox.name}}
    said = {"seq": str(found.seq), "keyframe": str(found.keyframe), "exact": not found.of_keyframe,
            "carried": found.carried, "of_keyframe": found.of_keyframe, "snapshot": whole}  # fmt: skip
    return HttpResponse(orjson.dumps(said), content_type=JSON)


api.add_router("/sandboxes", router)
