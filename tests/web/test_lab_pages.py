"""Labs on the web: started by one click, answered in the panel, graded from the journal."""

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override

from queueviz import engine
from queueviz.boards.fact_texts import FACTS
from queueviz.boards.lab_panel_texts import marked
from queueviz.links import lab_recordings
from queueviz.models import Sandbox
from queueviz.pages import labs
from queueviz.sandboxes import ownership
from sandbox.cluster import record as records
from sandbox.kernel.errors import EngineBusy
from sandbox.labs.catalogue import LABS
from sandbox.labs.catalogue.packs import PACKS
from sandbox.labs.catalogue.symptoms import SYMPTOMS
from tests.web.engine_calls import HTMX, act, events, start
from tests.web.fake_port import FakePort

ROOT = Path(__file__).parents[2]
LAB = "members-and-queues"
PATIENCE_S = 60
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def student(real_engine: Any) -> Client:
    return Client()


@pytest.fixture
def begun(student: Client) -> str:
    """Return the address of the lab's page."""
    answer = student.post(f"/labs/{LAB}/")
    assert answer.status_code == 302, answer.content
    return str(answer["Location"])


def slug_of(address: str) -> str:
    return address.split("/")[2]


def answer(student: Client, begun: str, part: str, value: object, step: int = 1) -> tuple[int, str]:
    given = student.post(begun, {"action": "AnswerStep", "step": step, "part": part, "value": value}, headers=HTMX)
    return given.status_code, html.unescape(given.content.decode())


def numbers(student: Client, begun: str) -> dict[str, Any]:
    """All of them, also those that no page shows, drawn again from what the journal has."""
    [started] = [event for event in events(student, slug_of(begun)) if event["type"] == "LabStarted"]
    return dict(LABS[started["lab"]].numbers(started["seed"], started["attempt"]))


def test_the_list_has_every_lab_and_starts_each_by_a_form(student: Client) -> None:
    page = html.unescape(student.get("/labs/").content.decode())
    for lab in LABS.values():
        assert lab.title in page
        assert f'action="/labs/{lab.slug}/"' in page


def test_a_lab_is_shown_as_it_happens_to_another_student(student: Client, settings: Any, tmp_path: Path) -> None:
    settings.QUEUEVIZ_HOME = tmp_path
    page = student.get(f"/labs/{LAB}/example/")
    assert page.context["state"] == "making"
    assert student.get(f"/labs/{LAB}/example.qvr").status_code == 404
    making = lab_recordings.make(LABS[LAB])
    assert making.over.wait(PATIENCE_S)
    assert making.state == "done"

    page = student.get(f"/labs/{LAB}/example/")
    [note] = page.context["player"]["notes"]
    assert "members have had no queue" in note["text"]
    assert str(note["text"]) in html.unescape(page.content.decode())
    part = student.get(page.context["player"]["url"], headers={"Range": "bytes=0-99"})
    assert (part.status_code, len(part.content)) == (206, 100)
    assert student.get("/labs/no-such-lab/example/").status_code == 404


def test_names_in_a_text_are_marked_and_nothing_else_is_html() -> None:
    said = marked("{one} & <b> hold {count}", {"one": "left<i>", "count": 5})
    assert said == "<code>left&lt;i&gt;</code> &amp; &lt;b&gt; hold 5"
    assert marked("", {"one": "left"}) == ""
    with override("zh-hans"):
        assert marked("{one} is still running.", {"one": "left"}) == "<code>left</code> 还在运行。"


def test_each_action_that_a_lab_allows_is_offered_by_a_page() -> None:
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "templates").rglob("*.html"))
    pages += (ROOT / "queueviz" / "boards" / "faults.py").read_text("utf-8")
    asked = {action for lab in LABS.values() for action in lab.allowed}
    assert [action for action in sorted(asked) if f'"{action}"' not in pages] == []


def test_a_lab_begins_with_its_own_settings(student: Client) -> None:
    begun = str(student.post("/labs/master-dies/")["Location"])
    record = records.load(engine.directory_of(slug_of(begun)))
    assert record.changes["pull_threshold_for_queue"] == LABS["master-dies"].changes["pull_threshold_for_queue"]


def test_each_lab_is_in_one_pack_and_once_on_the_page_in_that_order(student: Client) -> None:
    page = html.unescape(student.get("/labs/").content.decode())
    in_order = [lab.slug for pack in PACKS for lab in pack.labs]
    assert sorted(in_order) == sorted(LABS)
    assert re.findall(r'<li class="card" id="lab-([\w-]+)"', page) == in_order
    assert "0 of 4 done" in page
    assert not re.search(r"\bN\d\b", page), "numbers of labs mean nothing to a visitor"


def test_each_lab_says_the_symptom_by_which_it_is_found(student: Client) -> None:
    page = html.unescape(student.get("/labs/").content.decode())
    assert SYMPTOMS.keys() == LABS.keys()
    assert all(symptom in page for symptom in SYMPTOMS.values())


def test_starting_makes_a_sandbox_of_one_s_own_with_the_lab_begun(student: Client, begun: str) -> None:
    slug = slug_of(begun)
    assert begun == f"/s/{slug}/labs/{LAB}/"
    assert Sandbox.objects.get(slug=slug).name == "More members than queues"
    assert [event["lab"] for event in events(student, slug) if event["type"] == "LabStarted"] == [LAB]
    for page in ("", "journal/"):
        assert f'<a href="{begun}"' in student.get(f"/s/{slug}/{page}").content.decode(), "the Board has the panel"
    assert student.get("/labs/none/").status_code == 405
    assert student.post("/labs/none/").status_code == 404


def test_a_lab_that_could_not_be_started_leaves_no_sandbox(visitor: Client, port: FakePort) -> None:
    port.refuse["act"] = EngineBusy("The engine is busy.")
    assert visitor.post(f"/labs/{LAB}/").status_code == 503
    assert (Sandbox.objects.count(), port.sandboxes) == (0, {})
    assert visitor.post(f"/labs/{LAB}/").status_code == 302


def test_the_prediction_comes_first_and_is_sealed(student: Client, begun: str) -> None:
    page = html.unescape(student.get(begun).content.decode())
    assert 'name="part" value="predict"' in page
    assert "Then watch for 20 seconds" in page, "no one can predict what comes of an action that is not named"
    assert "Watch:" not in page
    assert answer(student, begun, "say", 2)[0] == 409
    status, panel = answer(student, begun, "predict", 2)
    assert status == 200
    assert "Then watch for 20 seconds" in panel
    assert "Your prediction is sealed until this step is done." in panel
    assert answer(student, begun, "predict", 3)[0] == 409
    kept = [event["value"] for event in events(student, slug_of(begun)) if event["type"] == "PredictionGiven"]
    assert kept == ["2"]


def test_what_cannot_be_read_is_refused_beside_the_question(student: Client, begun: str) -> None:
    status, panel = answer(student, begun, "predict", "many")
    assert status == 422
    assert "'many' is not a number." in panel
    assert 'name="part" value="predict"' in panel


def test_a_step_is_met_by_what_the_journal_has_and_links_to_it(student: Client, begun: str) -> None:
    slug, n = slug_of(begun), numbers(student, begun)
    answer(student, begun, "predict", n["idle"])
    act(student, slug, action="StartConsumer", group=n["group"], copies=n["members"] - n["at_first"])
    act(student, slug, action="SetRate", rate=20)
    for _ in range(200):  # each asks the engine, which goes on meanwhile
        if student.get(begun).context["lab"]["open"]["phase"] == "say":
            break
    status, panel = answer(student, begun, "say", 0)
    assert status == 200
    assert "You wrote 0; look at the cards without a lane again." in panel
    answer(student, begun, "say", n["idle"])
    _, panel = answer(student, begun, "why", "one_owner")
    met = next(event for event in events(student, slug) if event["type"] == "StepMet")
    assert met["evidence"]
    for seq in met["evidence"][:6]:
        assert f'href="/s/{slug}/journal/?at={seq}"' in panel
    assert met["why"] in panel
    assert "1 of 2 steps done" in student.get("/labs/").content.decode()


def test_only_who_may_act_answers(student: Client, begun: str) -> None:
    other = Client()
    assert other.post(f"{begun}progress/").status_code == 200
    assert answer(other, begun, "predict", 2)[0] == 403
    assert "PredictionGiven" not in {event["type"] for event in events(student, slug_of(begun))}
    assert other.get("/labs/").content.decode().count("steps done") == 0


def test_a_lab_that_is_not_in_progress_and_other_actions_are_refused(student: Client, begun: str) -> None:
    assert student.get(begun.replace(LAB, "pinned-offset")).status_code == 404
    assert student.post(begun, {"action": "DeleteTopic", "topic": "x"}, headers=HTMX).status_code == 422


def test_the_journal_s_line_of_a_step_has_no_english_sentence_in_it() -> None:
    """`why` is in English, and no texts of labs go to the browser: the panel says it in the reader's language."""
    with override("zh-hans"):
        said = FACTS["StepMet"].text.form(3)
    assert said == "第 {step} 步完成，依据 {evidence} 个事件"


def test_the_panel_speaks_chinese(student: Client, begun: str) -> None:
    student.cookies["django_language"] = "zh-hans"
    page = student.get(begun).content.decode()
    assert "预测" in page
    assert "How many of the" not in page
    assert "will have no queue" not in page


def test_the_best_score_of_a_lab_stays_when_its_sandbox_is_deleted(
    student: Client, begun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = labs._row(slug_of(begun), LAB)
    for score in (90, 70):
        monkeypatch.setattr(labs, "_row", lambda slug, lab, score=score: {**row, "finished": True, "score": score})
        assert student.post(f"{begun}progress/").status_code == 200
    other = Client()
    assert other.post(f"{begun}progress/").status_code == 200
    monkeypatch.undo()
    assert student.post(f"/s/{slug_of(begun)}/keep/delete/").status_code == 302
    assert "Done: 90 of 100" in student.get("/labs/").content.decode()
    assert "Done:" not in other.get("/labs/").content.decode()


def test_where_no_room_is_left_for_a_lab_one_s_own_sandboxes_can_be_deleted(
    student: Client, begun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "LIMITS", replace(ownership.LIMITS, sandboxes_per_visitor=1))
    for address in ("/labs/start-offset/", "/labs/exam/first-hour/"):
        refused = student.post(address)
        assert refused.status_code == 429
        assert f'name="instead" value="{slug_of(begun)}"' in refused.content.decode()


# Saved as a lab.


def test_what_was_done_on_a_board_is_saved_as_the_file_of_a_lab(student: Client) -> None:
    slug = start(student, "orders")
    empty = student.get(f"/s/{slug}/share/lab/")
    assert empty.status_code == 422
    assert "This sandbox has no action yet that students could do in a step." in html.unescape(empty.content.decode())
    crashed = act(student, slug, action="CrashActor", actor="A")
    act(student, slug, action="RestartActor", actor="A")
    answer = student.get(f"/s/{slug}/share/lab/")
    assert (answer.status_code, answer["Content-Disposition"]) == (200, f'attachment; filename="{slug}_lab.py"')
    text = answer.content.decode()
    compile(text, "lab", "exec")
    assert 'hands.act(RestartActor(actor="A"))' in text
    assert 'template="orders-bare"' in text
    assert "RestartActor" not in student.get(f"/s/{slug}/share/lab/?at={crashed}").content.decode()
    assert student.get(f"/s/{slug}/share/lab/?at=x").status_code == 422
    assert f'action="/s/{slug}/share/lab/"' in student.get(f"/s/{slug}/share/").content.decode()
    assert Client().get(f"/s/{slug}/share/lab/").status_code == 403, "and who only watches has no way to it"


# Exams.


def test_an_exam_begins_its_first_lab_and_leads_back_to_it(student: Client) -> None:
    assert student.post("/labs/exam/none/").status_code == 404
    assert 'action="/labs/exam/store-and-index/"' in student.get("/labs/").content.decode()
    begun = student.post("/labs/exam/store-and-index/")
    assert begun.status_code == 302
    address = str(begun["Location"])
    lab = address.split("/")[4]
    assert lab in {one.slug for one in next(pack for pack in PACKS if pack.slug == "store-and-index").labs}
    [started] = [event for event in events(student, slug_of(address)) if event["type"] == "LabStarted"]
    assert started["exam"] is True
    page = student.get(address)
    assert page.context["lab"]["exam"]
    text = page.content.decode()
    assert "An exam: no hints, one attempt, and right predictions count." in html.unescape(text)
    assert 'value="TakeHint"' not in text
    assert 'value="RestartLab"' not in text
    refused = student.post(address, {"action": "TakeHint", "step": 1}, headers=HTMX)
    assert refused.status_code == 409
    assert "Exams have no hints." in html.unescape(refused.content.decode())
    assert student.post("/labs/exam/store-and-index/")["Location"] == address, "it is not done"


def test_a_practised_lab_is_no_exam(student: Client, begun: str) -> None:
    assert not student.get(begun).context["lab"]["exam"]
    answer = student.post("/labs/exam/first-hour/")
    assert slug_of(str(answer["Location"])) != slug_of(begun)


def test_one_more_member_is_offered_with_the_settings_of_its_group(student: Client) -> None:
    """A member with twenty threads instead of one would consume more than the queues allow the others."""
    slug = slug_of(str(student.post("/labs/lag-and-throughput/")["Location"]))
    [started] = [event for event in events(student, slug) if event["type"] == "LabStarted"]
    n = LABS[started["lab"]].numbers(started["seed"], started["attempt"])
    asked = student.get(f"/s/{slug}/part/ask/", {"form": "consumer", "group": n["group"], "topic": n["topic"]})
    dialog = html.unescape(asked.content.decode())
    assert 'name="threads" type="number" min="1" max="1000" value="1"' in dialog
    assert f'name="work_ms" value="{n["work_ms"]}, {n["work_ms"]}"' in dialog
    [client_id] = re.findall(r'<select class="inp" name="client_id_of">(.*?)</select>', dialog, re.DOTALL)
    assert re.findall(r"<option value=\"(.*?)\">(.*?)</option>", client_id)[:2] == [
        ("", "its own"),
        ("A", "same as A (cloned container)"),
    ]
