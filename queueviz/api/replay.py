"""The JSON API of the past: the state of a sandbox at an event, changes between events, and the recording."""

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema
from ninja.params.functions import Query
from pydantic import ConfigDict

from queueviz import engine
from queueviz.access import policy, visitor
from queueviz.api.sandboxes import JSON, REFUSALS, api
from queueviz.boards.api_bodies import changes_body, recorded_range, stretches_body
from queueviz.links import byte_ranges, recordings, replay_state
from sandbox.kernel import json_bytes


class Wait(Schema):
    """The progress of a recording that is not ready yet.  `progress`: 0 to 1."""

    model_config = ConfigDict(extra="allow")  # `from` is no name of Python's

    progress: float
    to: str


router = Router(tags=["replay"])


@router.get("/{slug:slug}/state", response={200: dict[str, object]} | REFUSALS, summary="State at an event")
def state(request: HttpRequest, slug: str, at: int | None = None) -> HttpResponse:
    """Return the state at event `at`, or at the newest one without `at`.

    `seq` is the newest event at or before `at`. The `snapshot` is computed from the keyframe `keyframe` and the
    events after it. `carried` names the fields of the queues in `topics` and `groups/<name>` that hold at the event.
    `of_keyframe` names those that are as old as the keyframe; under `snapshot`, the lists and fields beside both.
    """
    return HttpResponse(json_bytes.dumps(replay_state.state(visitor.of_request(request), slug, at)), content_type=JSON)


@router.get("/{slug:slug}/stretches", response={200: dict[str, object]} | REFUSALS, summary="Reproducible ranges")
def stretches(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the ranges of the journal that can be executed again.

    `stretches`: each with `from`, `to`, `reproducible`, and `why` it ended or cannot be executed again. `keyframe`:
    the first event whose state is known.
    """
    requester = visitor.of_request(request)
    policy.sandbox_for(requester, slug, "see")
    replay_state.STATES.demand(policy.counted_as(requester))
    line = engine.answer(engine.port().line(slug))
    return HttpResponse(json_bytes.dumps(stretches_body(line)), content_type=JSON)


@router.get("/{slug:slug}/changes", response={200: dict[str, object]} | REFUSALS, summary="Changes between two events")
def changes(
    request: HttpRequest, slug: str, first: int = Query(0, alias="from"), last: int | None = Query(None, alias="to")
) -> HttpResponse:
    """Return what changed between the events `from` and `to`; without `to`, up to the newest event.

    `rows`: `place`, `field`, `before`, `after`, `exact` (false: a value is as old as its keyframe). Between the same
    `keyframes`, changes that no event carries are unknown.
    """
    requester = visitor.of_request(request)
    policy.sandbox_for(requester, slug, "see")
    replay_state.STATES.demand(policy.counted_as(requester))
    changed = engine.answer(engine.port().changes(slug, first, last), engine.PAST_PATIENCE_S)
    return HttpResponse(json_bytes.dumps(changes_body(changed)), content_type=JSON)


@router.get("/{slug:slug}/recording", response={202: Wait} | REFUSALS, summary="Recording, as a file")
def recording(
    request: HttpRequest, slug: str, first: int = Query(0, alias="from"), last: int | None = Query(None, alias="to")
) -> HttpResponse:
    """Return the recording of the events `from` to `to`, as a file (docs/recording.md).

    The file is sent by byte ranges if the request has them. Without `to`, up to the newest event. The status is 202
    while the server makes the recording: repeat the request with `from` and `to` of the answer.
    """
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    policy.ours(visit)
    first, last = recorded_range(engine.answer(engine.port().kept(slug)), first, last)
    file = recordings.of_server().find(
        slug, first, last, lambda: recordings.RATE.demand(policy.counted_as(requester)), scores=visit.sees_scores
    )
    if isinstance(file, recordings.Making):
        body = {"progress": round(file.progress, 3), "from": str(first), "to": str(last)}
        return HttpResponse(json_bytes.dumps(body), status=202, content_type=JSON)
    response = byte_ranges.answer(request, file, "application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{slug}-{first}-{last}.qvr"'
    return response


api.add_router("/sandboxes", router)
