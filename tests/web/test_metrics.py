"""`/metrics`: figures of the server for everyone, and of clusters by the exporter's names for permitted users."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from queueviz.clusters.cluster_metrics import SERVED, samples_of
from queueviz.live import hubs
from queueviz.models import Cluster
from tests.web.fake_port import SNAPSHOT, FakePort

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"
BEARER = {"Authorization": "Bearer of-prometheus"}
LINE = re.compile(r'([a-z_0-9]+)(?:\{([a-zA-Z_]+="(?:[^"\\]|\\.)*",?)*\})? -?[0-9.e+-]+')


@pytest.fixture(autouse=True)
def _token(settings: Any) -> None:
    settings.QUEUEVIZ_METRICS_TOKEN = "of-prometheus"


@pytest.fixture
def clusters(port: FakePort, db: None) -> None:
    """One sandbox with open ports, one without, and an attached cluster."""
    port.sandboxes |= {"open-otter": "live", "shy-otter": "live"}
    port.listening.add("open-otter")
    Cluster.objects.create(name="prod", name_servers="10.0.0.9:9876")


def said(client: Client, **headers: str) -> str:
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    return answer.content.decode()


def test_each_line_is_one_prometheus_can_read(visitor: Client, clusters: None) -> None:
    lines = said(visitor, **BEARER).splitlines()
    samples = [line for line in lines if not line.startswith("# ")]
    assert all(LINE.fullmatch(line) for line in samples), [line for line in samples if not LINE.fullmatch(line)]
    named = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(named) == len(set(named))
    assert {re.split("[{ ]", line)[0] for line in samples} == set(named)


def test_everyone_sees_how_the_server_does_and_no_name(visitor: Client, clusters: None) -> None:
    text = said(visitor)
    assert 'queueviz_sandboxes{state="live"} 2' in text
    assert "queueviz_busy 0" in text
    assert "queueviz_sockets 0" in text
    assert not re.search("otter|prod|rocketmq", text)


def test_the_token_opens_attached_clusters_and_sandboxes_with_open_ports(visitor: Client, clusters: None) -> None:
    text = said(visitor, **BEARER)
    for slug in ("open-otter", "k.prod"):
        assert f'rocketmq_producer_offset{{cluster="{slug}",broker="broker-a",topic="orders"}} 15306' in text
    assert "shy-otter" not in text


def test_another_token_or_none_set_opens_nothing(visitor: Client, clusters: None, settings: Any) -> None:
    assert "rocketmq" not in said(visitor, Authorization="Bearer of-grafana")
    settings.QUEUEVIZ_METRICS_TOKEN = ""
    assert "rocketmq" not in said(visitor, Authorization="Bearer ")


def test_who_administers_the_server_needs_no_token(visitor: Client, clusters: None) -> None:
    visitor.force_login(get_user_model().objects.create_superuser("root", password="x"))
    assert "rocketmq_group_count" in said(visitor)


def test_the_first_page_of_the_admin_says_how_the_server_does(
    visitor: Client, clusters: None, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor.force_login(get_user_model().objects.create_superuser("root", password="x"))
    text = " ".join(visitor.get("/admin/").content.decode().split())
    assert "Sandboxes awake: 2 of 200. Live sockets: 0. Frames at most 0 ms late." in text
    assert "This server is busy" not in text
    late = {"late_ms": 700, "sockets": 60}
    monkeypatch.setattr(hubs, "figures", lambda: late)
    text = visitor.get("/admin/", headers={"Accept-Language": "zh-hans"}).content.decode()
    assert "服务器繁忙：最近几秒内，画面最多迟了 700 毫秒。" in text
    port.silent.add("status")
    assert "The engine is not responding." in visitor.get("/admin/").content.decode()


def test_a_server_whose_engine_is_silent_answers_503(visitor: Client, port: FakePort) -> None:
    port.silent.add("status")
    assert visitor.get("/metrics").status_code == 503


def test_lag_is_what_is_stored_and_not_committed() -> None:
    assert _figures()["rocketmq_group_diff"] == {"orders": 6}
    assert _figures()["rocketmq_consumer_offset"] == {"orders": 15_300}
    assert _figures()["rocketmq_group_retrydiff"] == {"%RETRY%order-svc": 0}
    assert _figures()["rocketmq_broker_tps"] == {None: 6.0}


def test_a_queue_without_an_offset_counts_whole() -> None:
    assert _figures(committed=None, from_zero=True)["rocketmq_group_diff"] == {"orders": 15_306}


def test_while_a_queue_is_unknown_the_rest_is_no_lag_but_its_least() -> None:
    second = {"topic": "orders", "broker": "broker-b", "queue_id": 0, "committed": "90", "down": {"lag": "10"}}
    figures = _figures(more=[second])
    assert "rocketmq_group_diff" not in figures
    assert figures["queueviz_group_diff_at_least"] == {"orders": 6}
    assert figures["queueviz_group_queues_unknown"] == {"orders": 1}
    assert figures["rocketmq_consumer_offset"] == {"orders": 15_300}, "of the master that answers"


def test_what_is_not_known_has_no_sample() -> None:
    figures = _figures(committed=None, log=None, retrying=None)
    assert not figures.keys() & {
        "rocketmq_group_diff",
        "rocketmq_consumer_offset",
        "rocketmq_group_retrydiff",
        "rocketmq_brokeruntime_commitlog_maxoffset",
        "rocketmq_broker_tps",
    }
    assert list(samples_of("asleep", {"sandbox": {}})) == []


def test_every_name_of_the_exporter_is_served_or_named_as_missing() -> None:
    rows = re.findall(r"^\| `(rocketmq_\w+)` \| (.+?) \|", DOCS.read_text(), re.M)
    assert len(rows) == len(dict(rows)) == 89
    assert {name for name, how in rows if how == "served"} == set(SERVED)
    assert {how for _, how in rows} == {"served", "not served"}


def _figures(
    *,
    committed: str | None = "15300",
    log: Any = SNAPSHOT["brokers"][0]["log"],
    retrying: int | None = 0,
    more: Sequence[dict[str, Any]] = (),
    from_zero: bool = False,
) -> dict[str, dict[str | None, float]]:
    """Return the figures by name and topic."""
    queue = {
        "topic": "orders",
        "broker": "broker-a",
        "queue_id": 0,
        "committed": committed,
        "from_zero": from_zero,
        "down": None,
    }
    drawn = {
        **SNAPSHOT,
        "brokers": [{**SNAPSHOT["brokers"][0], "log": log}],
        "groups": [{**SNAPSHOT["groups"][0], "queues": [queue, *more], "counts": {"retrying": retrying}}],
    }
    found: dict[str, dict[str | None, float]] = {}
    for name, labels, value in samples_of("otter", drawn):
        found.setdefault(name, {})[labels.get("topic")] = value
    return found
