"""The download of a range of a sandbox as one HTML file with the recording and its player."""

from pathlib import Path

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST

from queueviz.access import policy, visitor
from queueviz.links import recordings, share_links, share_recordings
from queueviz.links.offline_page import offline_page
from queueviz.pages.share import shown_of
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused

LIMITS = HostLimits()


@require_POST
def offline(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the file of the range that the form requests, with its notes.

    The status is 202 with the progress while the server makes the recording: repeat the request.  The file contains
    what a link to the range would show.
    """
    requester = visitor.of_request(request)
    sandbox = policy.sandbox_for(requester, slug, "share")
    shown = shown_of(request)
    share_links.demand_range(sandbox, shown)
    recording = recordings.of_server().find(
        slug,
        shown.first,
        shown.last,
        lambda: recordings.RATE.demand(policy.counted_as(requester)),
        scores=share_recordings.shows_scores(sandbox),
    )
    if not isinstance(recording, Path):
        return JsonResponse({"progress": round(recording.progress, 3)}, status=202)
    data = recording.read_bytes()
    if len(data) > LIMITS.share_bytes:
        raise ActionRefused(409, "This recording is too large for one file.", "Choose a shorter range.")
    title = request.POST.get("label", "").strip()[: share_links.LABEL_CHARS] or "QueueViz"
    page = offline_page(share_recordings.unnamed(data), title=title, language=shown.language, notes=shown.notes)
    name = f"queueviz-{shown.first}-{shown.last}.html"
    return HttpResponse(page, headers={"Content-Disposition": f'attachment; filename="{name}"'})
