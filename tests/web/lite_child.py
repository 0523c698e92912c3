"""A process like a browser's worker: it renders all of a sandbox's pages without Django's settings module.

python -m tests.web.lite_child HOME FIRST_PORT  →  JSON: answers, modules
"""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings

from queueviz.boards import BOARDS, PARTS
from queueviz.lite.site import Site
from sandbox.cluster.config import HostConfig
from sandbox.hosting.engine import Engine
from sandbox.labs.catalogue import LABS

TEMPLATES = ("flights", "orders", "payments", "cluster", "retries", "index", "shrink", "empty")
LANGUAGES = ("en", "zh-hans")
CHINESE = re.compile("[\u4e00-\u9fff]")
LAB = LABS["pinned-offset"]
WITHIN_S = 120  # other work may share the machine
API = ("api", "api/journal?most=5", "api/events?most=5", "api/stretches", "api/ask/lab-state")


def paths(snapshot: dict[str, Any]) -> list[str]:
    """Return the paths of all boards, panels and dialogs of a sandbox."""
    asks = settings.SITE / "templates" / "queueviz" / "asks"
    boards = [board.path for board in BOARDS.values() if board.name not in ("client", "message", "connect")]
    twins = [f"part/{board.name}/" for board in BOARDS.values() if board.twin]
    dialogs = [f"part/ask/?form={path.stem}" for path in sorted(asks.glob("*.html"))]
    clients = [f"clients/{row['actor']}/" for row in snapshot["producers"][:1]]
    return ["", *boards, *clients, *(f"part/{name}/" for name in PARTS), *twins, *dialogs, *API]


async def render(site: Site) -> list[tuple[str, str, int, int, int]]:
    """Return path, language, status, length and number of Chinese characters of each page."""
    snapshot = json.loads((await site.answer("GET", "api")).body)
    answers = []
    for language in LANGUAGES:
        for path in paths(snapshot):
            answer = await site.answer("GET", path, language=language)
            answers.append((path, language, answer.status, len(answer.body), len(CHINESE.findall(answer.body))))
    return answers


async def newest(site: Site, question: str, rows: str) -> dict[str, Any]:
    """Return the last row of an answer, as soon as there is one; the sandbox runs between two questions."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + WITHIN_S
    while loop.time() < end_s:
        body = json.loads((await site.answer("GET", f"api/ask/{question}")).body)
        if body.get(rows):
            return dict(body[rows][-1])
        await asyncio.sleep(0)
    raise AssertionError(f"no {rows}: {body}")


async def ask(site: Site) -> list[tuple[str, int, str]]:
    """Return path, status and beginning of the answers to all questions that pages ask, and of a message's page."""
    snapshot = json.loads((await site.answer("GET", "api")).body)
    broker, event = snapshot["brokers"][0]["broker"], snapshot["seq"]
    group = snapshot["groups"][0]
    of_group = urlencode({"group": group["group"], "topic": group["subscription"][0]["topic"]})
    topic = urlencode({"topic": group["subscription"][0]["topic"]})
    entry = f"{topic}&broker={broker}&queue_id=0&offset=0"
    await site.answer("POST", "actions/", f"action=SendMessages&{topic}&queue={broker}:0&count=1")
    message = await newest(site, f"find-messages?{topic}&queue={broker}:0&offset=0", "rows")
    frame = await newest(site, f"frames?link=A~{broker}", "frames")
    answers = []
    for path in (
        f"ask/plan-reset/?{of_group}&target=earliest",
        f"ask/plan-rebalance/?{of_group}&add=1",
        "ask/plan-crash/?actor=A",
        f"ask/walk-index/?{topic}&key=order-1",
        f"ask/read-record/?broker={broker}&physical_offset=0",
        f"ask/read-entry/?{entry}",
        f"ask/locate/?broker={broker}&physical_offset=0",
        f"ask/find-messages/?{topic}&queue={broker}:0&offset=0",
        f"ask/route/?{topic}&everywhere=true",
        "ask/transactions/",
        f"ask/frames/?link=A~{broker}&no={frame['no']}",
        f"ask/what-followed/?seq={event}",
        f"api/ask/recent-lag?{of_group}",
        f"messages/{quote(message['msg_id'])}/",
        f"api/state?at={event}",
        f"api/changes?from={event}&to={event}",
        f"?at={event}",
        f"journal/?at={event}",
    ):
        answer = await site.answer("GET", path)
        answers.append((path, answer.status, answer.body if answer.status != 200 else ""))
    return answers


async def learn(site: Site, lab: str) -> list[tuple[int, str]]:
    """Begin a lab, and return the answers of its page, of its panel, to a hint, and to another action."""
    requests = [
        ("POST", "actions/", urlencode({"action": "StartLab", "lab": lab}), False),
        ("GET", f"labs/{lab}/", "", False),
        ("GET", f"labs/{lab}/", "", True),
        ("POST", f"labs/{lab}/progress/", "", True),
        ("POST", f"labs/{lab}/", "action=TakeHint&step=1", True),
        ("POST", f"labs/{lab}/", "action=CrashActor&actor=A", True),
        ("GET", "", "", False),
        ("GET", "labs/nothing/", "", True),
    ]
    answers = [await site.answer(method, path, body, htmx=htmx) for method, path, body, htmx in requests]
    return [(answer.status, answer.body) for answer in answers]


async def act(site: Site) -> list[Any]:
    """Return the answers to an action, to a refused one, and to requests that no page answers."""
    before = json.loads((await site.answer("GET", "api")).body)["seq"]
    done = await site.answer("POST", "actions/", "action=CrashActor&actor=A")
    states = {
        member["actor"]: member["state"]
        for group in json.loads((await site.answer("GET", "api")).body)["groups"]
        for member in group["members"]
    }
    refused = await site.answer("POST", "actions/", "action=CrashActor&actor=missing", language="zh-hans")
    unknown = await site.answer("GET", "nothing/")
    server = await site.answer("GET", "connect/")
    question = await site.answer("GET", "api/ask/nothing")
    return [before, done, states, refused, unknown, server, question]


def main(home: str, first_port: str) -> None:
    engine = Engine(Path(home), HostConfig(first_port=int(first_port))).start()
    pages, sandboxes = {}, Path(home) / "sandboxes"
    try:
        for template in TEMPLATES:
            engine.port.create(template, template).result(20)
            site = Site(engine.port, template, sandboxes / template, root=f"/lite/{template}/", static="/static/")
            pages[template] = asyncio.run(render(site))
            if template == "orders":
                asked, acted = asyncio.run(ask(site)), asyncio.run(act(site))
            engine.port.delete(template).result(20)
        engine.port.create("lab", LAB.template, preset=LAB.preset, changes=dict(LAB.changes) or None).result(20)
        learned = asyncio.run(
            learn(Site(engine.port, "lab", sandboxes / "lab", root="/lite/lab/", static="/static/"), LAB.slug)
        )
    finally:
        engine.stop()
    print(
        json.dumps(
            {
                "pages": pages,
                "acted": acted,
                "asked": asked,
                "learned": learned,
                "modules": sorted(sys.modules),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
