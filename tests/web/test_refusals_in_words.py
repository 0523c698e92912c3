"""A refusal, and trouble, in the language of the reader; what the machine says stays a value within our sentence."""

from concurrent.futures import Future
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from queueviz import refusals
from queueviz.boards import reset_plan
from sandbox.cluster.notices import FROM_BACKUP, LOG_CUT, NO_BACKUP, TABLE_DAMAGED, Notice
from sandbox.kernel.errors import ActionRefused, CorruptRecord, EngineBusy
from tests.web.fake_port import FakePort

ENGLISH, CHINESE = {"Accept-Language": "en"}, {"Accept-Language": "zh-hans"}
FULL = "no space left on device"


def in_chinese(error: Exception) -> dict[str, Any]:
    with translation.override("zh-hans"):
        return refusals.describe(error)[1]


def test_text_and_values_are_joined_in_the_reader_s_language() -> None:
    refused = ActionRefused(
        409,
        "{actor} is already {state}.",
        "Restart the producer or consumer to use it again.",
        actor="A",
        state="crashed",
    )
    assert in_chinese(refused) == {"error": "A 的状态已是“已崩溃”。", "hint": "请重启该生产者或消费者后再使用。"}


def test_a_name_someone_gave_is_never_translated() -> None:
    assert in_chinese(ActionRefused(404, "Topic {topic} does not exist.", topic="Board"))["error"] == "没有主题 Board。"


def test_an_error_we_have_no_words_for_stands_within_a_sentence_of_ours() -> None:
    assert in_chinese(CorruptRecord("x.json cannot be read"))["error"] == "引擎无法执行此请求：x.json cannot be read。"
    assert in_chinese(EngineBusy("The engine is stopped."))["error"] == "引擎已停止。"


def test_why_a_reset_cannot_be_done_is_said_in_the_reader_s_language() -> None:
    pattern = "The group has no stored offset in {queues}; the broker refuses the reset (code 1)."
    refused = {
        "message": pattern.format(queues="broker-a:0"),
        "hint": "Choose the offline method.",
        "pattern": pattern,
        "values": {"queues": "broker-a:0"},
    }
    with translation.override("zh-hans"):
        shown = reset_plan.shown({"rows": [], "refused": refused, "fingerprint": "f"})["refused"]
    assert shown is not None
    assert shown["message"] == "消费组在 broker-a:0 没有消费位点，Broker 拒绝重置（代码 1）。"
    assert shown["hint"] == "请选择离线方式。"
    assert reset_plan.shown({"rows": [], "refused": None, "fingerprint": "f"})["refused"] is None


@pytest.fixture
def standing(mine: str, port: FakePort, monkeypatch: pytest.MonkeyPatch) -> str:
    """A sandbox whose data home takes nothing more."""
    drawn = port.snapshot

    def snapshot(slug: str) -> Future[dict[str, Any]]:
        drawing: Future[dict[str, Any]] = Future()
        seen = drawn(slug).result()
        trouble = {"trouble": f"The data home accepts no more data: {FULL}.", "trouble_why": FULL}
        drawing.set_result({**seen, "sandbox": seen["sandbox"] | trouble})
        return drawing

    monkeypatch.setattr(port, "snapshot", snapshot)
    return mine


def banner(page: str) -> str:
    """Empty where there is none."""
    return page.partition('<div class="banner" role="status">')[2].partition("</div>")[0]


def test_a_page_of_a_sandbox_that_stands_still_says_why(visitor: Client, standing: str) -> None:
    assert FULL in banner(visitor.get(f"/s/{standing}/", headers=ENGLISH).content.decode())
    chinese = banner(visitor.get(f"/s/{standing}/", headers=CHINESE).content.decode())
    assert "数据目录无法再写入：磁盘空间不足。" in chinese
    assert "takes nothing more" not in chinese


def test_a_page_of_a_sandbox_without_trouble_has_no_banner(visitor: Client, mine: str) -> None:
    assert banner(visitor.get(f"/s/{mine}/").content.decode()) == ""


@pytest.mark.parametrize(
    ("pattern", "chinese"),
    [
        (TABLE_DAMAGED, "config/topics.json 只含 NUL 字节"),
        (FROM_BACKUP, "加载了 config/topics.json 的备份"),
        (NO_BACKUP, "以空表 topics 启动"),
    ],
)
def test_c1_a_table_that_cannot_be_read_stands_on_every_page(
    visitor: Client, mine: str, port: FakePort, pattern: str, chinese: str
) -> None:
    values = {"broker": "broker-a", "table": "topics", "file": "config/topics.json", "why": "holds only NUL bytes"}
    port.notices[mine] = [Notice(pattern, values)._asdict()]
    assert pattern.format(**values) in banner(visitor.get(f"/s/{mine}/", headers=ENGLISH).content.decode())
    assert chinese in banner(visitor.get(f"/s/{mine}/", headers=CHINESE).content.decode())


def test_what_was_cut_off_a_log_stands_on_every_page_until_the_owner_has_read_it(
    visitor: Client, mine: str, port: FakePort
) -> None:
    values = {"broker": "broker-a", "offset": "4096", "bytes": "123"}
    port.notices[mine] = [Notice(LOG_CUT, values, dismissible=True)._asdict()]
    for path in ("", "settings/", "part/trouble/"):
        said = visitor.get(f"/s/{mine}/{path}", headers=ENGLISH).content.decode()
        assert LOG_CUT.format(**values) in banner(said), path
        assert f"/s/{mine}/keep/dismiss/" in said, path
    assert "截掉了 123 字节" in banner(visitor.get(f"/s/{mine}/", headers=CHINESE).content.decode())
    anonymous = Client().get(f"/s/{mine}/", headers=ENGLISH).content.decode()
    assert LOG_CUT.format(**values) in banner(anonymous)
    assert "keep/dismiss/" not in anonymous
    assert Client().post(f"/s/{mine}/keep/dismiss/").status_code == 403
    assert visitor.post(f"/s/{mine}/keep/dismiss/").status_code == 302
    assert banner(visitor.get(f"/s/{mine}/").content.decode()) == ""
