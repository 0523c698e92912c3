"""The gallery of incidents, opening one, and its markers in the replay of what was opened."""

import html
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest
from django.test import Client

from queueviz import engine
from queueviz.links import incidents
from queueviz.models import Sandbox
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import unpack
from sandbox.labs.incidents import INCIDENTS
from sandbox.labs.incidents.incident import BEGIN_MS
from tests.web.fake_port import FakePort

SLUG = "lag-after-a-deploy"
INCIDENT = INCIDENTS[SLUG]


pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    incidents._remembered.clear()
    yield
    incidents._remembered.clear()


def write(
    slug: str, *acts: tuple[int, str, dict[str, object]], ends_ms: int = 200_000, seed: str = INCIDENT.seed
) -> Path:
    """A sandbox's files: its record and a journal of actions, each a number, a name and fields."""
    directory = engine.directory_of(slug)
    (directory / "journal").mkdir(parents=True)
    (directory / "sandbox.json").write_bytes(
        orjson.dumps(
            {
                "format": 1,
                "slug": slug,
                "template": "empty",
                "preset": "sandbox",
                "changes": {},
                "seed": seed,
                "nodes": [],
                "limits": {},
            }
        )
    )
    rows = [
        {
            "seq": seq,
            "at_ms": BEGIN_MS + seq,
            "type": "ActionTaken",
            "cause": None,
            "action": name,
            "fields": {"actor": None, **fields},
            "by": "owner",
        }
        for seq, name, fields in acts
    ]
    rows.append({"seq": 9_000, "at_ms": BEGIN_MS + ends_ms, "type": "SandboxSlept", "cause": None, "reason": "idle"})
    (directory / "journal" / f"{0:020}.ndjson").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return directory


def opened(reader: Client, slug: str = SLUG) -> str:
    answer = reader.post(f"/incidents/{slug}/")
    assert answer.status_code == 302
    return str(answer["Location"]).split("/")[2]


def test_the_gallery_shows_all_each_with_its_lab_and_its_recipe() -> None:
    page = html.unescape(Client().get("/incidents/").content.decode())
    for incident in INCIDENTS.values():
        assert incident.complaint in page
        assert incident.symptom in page
        assert incident.cause not in page  # it is to be found
        assert f"/labs/#lab-{incident.lab}" in page
    links = [part.split('"')[0] for part in page.split('href="')[1:]]
    recipes = [urlsplit(link).fragment for link in links if link.startswith("/recipe/#")]
    assert [unpack(text, HostLimits()).seed for text in recipes] == [one.seed for one in INCIDENTS.values()]


@pytest.mark.parametrize("address", ["/", "/labs/"])
def test_the_gallery_is_found(address: str, port: FakePort) -> None:
    assert 'href="/incidents/"' in Client().get(address).content.decode()


def test_opening_one_makes_a_sandbox_of_its_name_by_its_recipe(port: FakePort) -> None:
    slug = opened(Client())
    assert Sandbox.objects.get(slug=slug).name == "Lag after a deploy"
    [order] = port.branched
    assert (order.seed, order.until, len(order.came)) == (INCIDENT.seed, 0, len(INCIDENT.done))


def test_there_is_none_of_another_name_and_a_visit_opens_nothing(port: FakePort) -> None:
    assert Client().post("/incidents/none/").status_code == 404
    assert Client().get(f"/incidents/{SLUG}/").status_code == 405
    assert port.branched == []


def test_once_made_it_is_shown_at_its_first_marker(port: FakePort) -> None:
    reader = Client()
    slug = opened(reader)
    port.sandboxes[slug] = "live"
    write(slug, (70, "StopActor", {"actor": "A"}), (90, "RestartActor", {"actor": "B"}))
    answer = reader.get(f"/s/{slug}/branching/")
    assert answer["Location"] == f"/s/{slug}/?group=billing&topic=orders&at=70"
    assert f"/s/{slug}/branching/" in reader.get("/incidents/").content.decode()


def test_without_a_marker_its_board_is_shown(port: FakePort) -> None:
    reader = Client()
    slug = opened(reader)
    port.sandboxes[slug] = "live"
    for seed in (INCIDENT.seed, "7"):
        directory = write(slug, seed=seed)
        assert reader.get(f"/s/{slug}/branching/")["Location"] == f"/s/{slug}/"
        directory.rename(directory.with_name(f"{slug}-{seed[:1]}"))
        incidents._remembered.clear()


def test_its_replay_has_the_markers_and_says_what_belongs_to_the_event(visitor: Client, mine: str) -> None:
    write(mine, (70, "StopActor", {"actor": "A"}), (90, "RestartActor", {"actor": "B"}))
    page = visitor.get(f"/s/{mine}/?at=80").content.decode()
    assert page.count('data-seq="70"') == 1
    assert f'href="/s/{mine}/?group=billing&amp;topic=orders&amp;at=90"' in page
    assert '<p data-note="70">' in page
    assert '<p data-note="90" hidden>' in page
    assert "Both members run version 2." in page


def test_a_sandbox_of_no_incident_has_no_markers(visitor: Client, mine: str) -> None:
    assert 'id="incident"' not in visitor.get(f"/s/{mine}/?at=80").content.decode()
    write(mine, (70, "StopActor", {"actor": "A"}), seed="7")
    assert 'id="incident"' not in visitor.get(f"/s/{mine}/?at=80").content.decode()


def test_what_is_done_after_the_incident_s_end_is_no_marker(mine: str) -> None:
    directory = write(mine, (70, "StopActor", {"actor": "A"}), (INCIDENT.until_ms + 1, "RestartActor", {"actor": "B"}))
    shown = incidents.shown(mine)
    assert shown is not None
    assert [note["seq"] for note in shown["notes"]] == [70]
    (directory / "journal" / f"{0:020}.ndjson").unlink()
    assert incidents.shown(mine) == shown  # whole: it is not read again


def test_a_journal_that_cannot_be_read_leaves_the_replay_as_any(visitor: Client, mine: str) -> None:
    directory = write(mine, (70, "StopActor", {"actor": "A"}))
    (directory / "journal" / f"{0:020}.ndjson").write_bytes(b'{"seq": 1, "at_ms": 1, "type": "Nonsense"}\n')
    page = visitor.get(f"/s/{mine}/?at=80")
    assert page.status_code == 200
    assert 'id="incident"' not in page.content.decode()


def test_it_is_said_in_chinese_too(visitor: Client, mine: str) -> None:
    write(mine, (70, "StopActor", {"actor": "A"}))
    visitor.cookies["django_language"] = "zh-hans"
    assert "发布之后堆积不断增长" in visitor.get("/incidents/").content.decode()
    assert "发布开始" in visitor.get(f"/s/{mine}/?at=80").content.decode()


def test_its_recipe_link_says_what_is_done_and_how_long_it_lasts(port: FakePort) -> None:
    page = html.unescape(Client().get("/incidents/").content.decode())
    link = page.split('href="/recipe/#')[1].split('"')[0]
    seen = html.unescape(Client().post("/recipe/", {"text": link}).content.decode())
    assert "Up to event" not in seen
    assert "2 m 30 s" in seen.replace("\u2009", " ")
    made = Client().post("/recipe/", {"text": link, "make": "1"})
    assert Sandbox.objects.get(slug=made["Location"].split("/")[2]).name == "Lag after a deploy"
