"""`/metrics` for Prometheus: the server's metrics for everyone, those of clusters for authorized clients.

Text format 0.0.4.  Clusters are attached ones and sandboxes with open ports.  They need the token of
`QUEUEVIZ_METRICS_TOKEN`, or the session of an administrator.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator
from typing import cast

from django.conf import settings
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from queueviz import engine
from queueviz.access import visitor
from queueviz.clusters import attached_clusters
from queueviz.clusters.cluster_metrics import FINDINGS, PARTLY, SERVED, Sample, findings_of, samples_of
from queueviz.models import Cluster, PipelineRun
from queueviz.operations.server_load import LATE_MS, Load, load
from sandbox.control.readings import Reading
from sandbox.kernel.errors import SandboxError
from sandbox.queries.rows.findings import Findings

log = logging.getLogger(__name__)

OF_SERVER = {
    "queueviz_busy": ("gauge", f"1 while frames are more than {LATE_MS} ms late, or the engine answers late"),
    "queueviz_sandboxes": ("gauge", "Sandboxes by state"),
    "queueviz_sandboxes_limit": ("gauge", "Sandboxes that may be awake at once"),
    "queueviz_descriptors": ("gauge", "Open file descriptors"),
    "queueviz_engine_answer_seconds": ("gauge", "Time until the engine answered"),
    "queueviz_frame_late_seconds": ("gauge", "Longest wait of a board in the last seconds, from when it was due"),
    "queueviz_frame_unacknowledged_seconds": ("gauge", "Age of the oldest frame that no browser has painted"),
    "queueviz_sockets": ("gauge", "Live sockets"),
    "queueviz_channels": ("gauge", "Channels that are watched"),
    "queueviz_frames_total": ("counter", "Frames sent to browsers"),
    "queueviz_frame_bytes_total": ("counter", "Bytes of them"),
    "queueviz_read_turns_total": ("counter", "Crossings to the engine in which boards were read"),
    "queueviz_slow_sockets_closed_total": ("counter", "Sockets closed because their browser painted nothing"),
    "queueviz_pipeline_runs": ("gauge", "Runs of the pipeline by state"),
}


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    try:
        now = load()
    except SandboxError as error:
        return HttpResponse(f"# {error}\n", status=503, content_type="text/plain; charset=utf-8")
    samples = list(_of_server(now))
    if _may_know_clusters(request):
        samples += _of_clusters(now)
    by_name: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_name[sample.name].append(sample)
    kinds = {**OF_SERVER, **{name: ("gauge", text) for name, text in {**SERVED, **PARTLY, **FINDINGS}.items()}}
    lines = []
    for name, (kind, text) in kinds.items():
        if name in by_name:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *map(_line, by_name[name])]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; version=0.0.4; charset=utf-8")


def _may_know_clusters(request: HttpRequest) -> bool:
    token, bearer = settings.QUEUEVIZ_METRICS_TOKEN, visitor.bearer(request.headers.get("Authorization", ""))
    if bearer is not None:
        return bool(token) and constant_time_compare(bearer, token)
    return request.user.is_active and request.user.is_superuser


def _of_server(now: Load) -> Iterator[Sample]:
    live = now.live
    figures = {
        "queueviz_busy": int(now.busy is not None),
        "queueviz_sandboxes_limit": now.status["cap"],
        "queueviz_descriptors": now.status["fds"],
        "queueviz_engine_answer_seconds": now.engine_ms / 1000,
        "queueviz_frame_late_seconds": live["late_ms"] / 1000,
        "queueviz_frame_unacknowledged_seconds": live["oldest_unacknowledged_ms"] / 1000,
        "queueviz_sockets": live["sockets"],
        "queueviz_channels": live["channels"],
        "queueviz_frames_total": live.get("frames", 0),
        "queueviz_frame_bytes_total": live.get("bytes", 0),
        "queueviz_read_turns_total": live.get("reads", 0),
        "queueviz_slow_sockets_closed_total": live.get("closed_slow", 0),
    }
    yield from (Sample(name, {}, value) for name, value in figures.items())
    yield from (Sample("queueviz_sandboxes", {"state": state}, count) for state, count in now.states.items())
    runs = PipelineRun.objects.order_by("state").values_list("state").annotate(Count("run"))
    yield from (Sample("queueviz_pipeline_runs", {"state": state}, count) for state, count in runs)


def _of_clusters(now: Load) -> list[Sample]:
    """Return the samples of each cluster from its last snapshot.

    Attached clusters are polled from now on, as if a page were open.
    """
    port = engine.port()
    samples: list[Sample] = []
    opened = [slug for slug, row in now.status["sandboxes"].items() if row["state"] == "live" and row["listening"]]
    for cluster in Cluster.objects.order_by("name"):
        try:
            port.attach(cluster.slug, attached_clusters.settings_of(cluster))
            opened.append(cluster.slug)
        except SandboxError as error:
            log.info("no metrics of %s: %s", cluster.slug, error)
    for slug in opened:
        try:
            samples += samples_of(slug, engine.answer(port.snapshot(slug)))
            [reading] = engine.answer(port.read([f"findings/{slug}"]))
            if isinstance(reading, Reading):
                samples += findings_of(slug, cast(Findings, reading.data))
        except SandboxError as error:
            log.info("no metrics of %s: %s", slug, error)
    return samples


def _line(sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
    return f"{sample.name}{{{labels}}} {sample.value}" if labels else f"{sample.name} {sample.value}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
