"""The JSON API of findings, of sandboxes and of attached clusters (docs/findings.md)."""

from django.http import HttpRequest, HttpResponse

from queueviz import engine
from queueviz.access import policy, visitor
from queueviz.api.sandboxes import JSON, REFUSALS, api
from queueviz.clusters import attached_clusters
from sandbox.control.readings import Refusal
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused


@api.get(
    "/sandboxes/{slug:slug}/findings", response={200: dict[str, object]} | REFUSALS, summary="What is wrong, and why"
)
def findings(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the open findings, the worst first, and the checks that hold: `{"at_ms", "findings", "checks", …}`."""
    visit = policy.visit_at(visitor.of_request(request), slug, "see")
    attached_clusters.demand(visit)
    [reading] = engine.answer(engine.port().read([f"findings/{slug}"]))
    if isinstance(reading, Refusal):
        raise ActionRefused(503, "The findings of {slug} are unknown: it does not run.", "Wake it first.", slug=slug)
    return HttpResponse(json_bytes.dumps(reading.data), content_type=JSON)
