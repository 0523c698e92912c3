"""Minutes at 20× with kills, a restart, a dead master and members at odds: page, API and Apache's mqadmin agree.

    script/test robustness -k mqadmin [--minutes 10]

Every ten seconds the world is stopped.  Then every number of the Board is the API's, and mqadmin's where it has one.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.board_numbers import Comparison
from tests.browser.conftest import PATIENCE_MS, Site, browser, context, page
from tests.interop.clients import CLIENTS
from tests.interop.peer import Peer
from tests.server.server import Server, until

__all__ = ["browser", "context", "page"]

FAST = "20"
GROUP, TOPIC = "order-svc", "orders"
MQADMIN = next(client for client in CLIENTS if client.name == "java-5.3.3")
BETWEEN_MS = 10_000  # of the machine's time
AGREE_WITHIN_S = 2.0
LAST_MESSAGES = 3  # of a queue that a slave may not have got before its master died

Numbers = dict[str, int | str | None]


class Scene:
    """A sandbox of two masters and a slave, its page, and mqadmin at its name servers."""

    def __init__(self, page: Page, server: Server, folder: Path) -> None:
        self.page, self.server = page, server
        self.site = Site(page, server.url, {})
        self.site.start("cluster")
        self.site.open(f"?group={GROUP}&topic={TOPIC}")
        self.comparison = Comparison(page, self.site.snapshot, group=GROUP, topic=TOPIC)
        self.said = 0  # numbers of mqadmin compared so far
        self.silent = 0  # times it said nothing
        self.slowest_s = 0.0  # until the page agreed
        self.differ: list[str] = []
        self._peer = Peer(MQADMIN.name, MQADMIN.build(), folder)
        self._name_servers = self._listen()

    def end(self) -> None:
        self.page.goto("about:blank")
        self._peer.__exit__()

    def run(self, steps: list[tuple[str, Callable[[], None]]], looks: int) -> None:
        """So many looks, with the steps spread over them."""
        every = max(1, looks // (len(steps) + 1))
        for look in range(1, looks + 1):
            self.go_on()
            name = "going on"
            if look % every == 0 and steps:
                name, step = steps.pop(0)
                step()
            self.page.wait_for_timeout(BETWEEN_MS)
            self.site.stand_still()
            self.look(f"look {look}, {name}")
        assert not steps, "more looks are needed for these steps"

    def go_on(self) -> None:
        self.page.locator(f"[data-rate='{FAST}']").click()
        expect(self.page.locator(f"[data-rate='{FAST}']")).to_have_attribute("aria-pressed", "true")

    def look(self, where: str) -> None:
        """At the page, which agrees with the API within two seconds, and at mqadmin."""
        began_s = time.monotonic()
        differ = self.comparison.differences()
        took_s = time.monotonic() - began_s
        self.slowest_s = max(self.slowest_s, took_s)
        if differ or took_s > AGREE_WITHIN_S:
            self.differ.append(f"{where}: page and API, {took_s:.1f} s: {differ}")
        before, printed, after = self.of_api(), self.of_mqadmin(), self.of_api()  # its connection lets the clock go on
        self.said += len(printed)
        self.silent += not printed
        odd = {
            key: f"mqadmin {value}, API {before.get(key)} and then {after.get(key)}"
            for key, value in printed.items()
            if not may_say(key, value, before, after)
        }
        if odd:
            self.differ.append(f"{where}: API and mqadmin: {odd}")
        if not printed and not of_down(before) and None not in before.values():
            self.differ.append(f"{where}: mqadmin reaches no broker, the API knows all")

    def of_api(self) -> Numbers:
        """Return the numbers that mqadmin prints, from `GET /api/sandboxes/<slug>`; None: unknown to the API."""
        snapshot = self.site.snapshot()
        group = next(row for row in snapshot["groups"] if row["group"] == GROUP)
        topic = next(row for row in snapshot["topics"] if row["topic"] == TOPIC)
        members = sorted(
            row["client_id"].partition(" ")[0]
            for row in group["members"]
            if row["same_id"] and row["state"] in ("running", "hung")
        )
        found: Numbers = {"lag": number(group["lag"]), "members": " ".join(members)}
        for row in (row for row in group["queues"] if row["topic"] == TOPIC):
            queue = f"{row['broker']}:{row['queue_id']}"
            found |= {
                f"{queue} committed": number(row["committed"]),
                f"{queue} owner": (row["owner"] or "N/A").partition("@")[0],
                f"{queue} down": "down" if row["down"] else "up",
            }
        for row in topic["queues"]:
            found |= {f"{row['broker']}:{row['queue_id']} {name}": number(row[name]) for name in ("min", "max")}
        return found

    def of_mqadmin(self) -> Numbers:
        """Return the numbers of `consumerProgress`, `topicStatus` and `consumerConnection`; empty: none answered."""
        found: Numbers = {}
        for words in self._mqadmin(f"consumerProgress -g {GROUP} -s true"):
            if words[0] == TOPIC:  # the API counts what is in retry
                _, broker, queue_id, end, committed, address, *_ = words
                queue = f"{broker}:{queue_id}"
                found |= {f"{queue} max": int(end), f"{queue} committed": int(committed), f"{queue} owner": address}
            elif words[:3] == ["Consume", "Diff", "Total:"]:
                found["lag"] = int(words[3])
        for broker, queue_id, *ends in self._mqadmin(f"topicStatus -t {TOPIC}"):
            if broker.startswith("broker-"):
                found |= {
                    f"{broker}:{queue_id} {name}": int(end) for name, end in zip(("min", "max"), ends, strict=False)
                }
        members = [words[0] for words in self._mqadmin(f"consumerConnection -g {GROUP}") if "@" in words[0]]
        return found | ({"members": " ".join(sorted(members))} if members else {})

    def _mqadmin(self, line: str) -> list[list[str]]:
        """The words of each row."""
        said = str(self._peer.do("mqadmin", line=line, namesrv=self._name_servers).of("printed")[0]["text"])
        return [] if "Exception" in said else [words for row in said.splitlines() if len(words := row.split()) > 3]

    def _listen(self) -> str:
        answer = self.page.request.post(
            f"{self.server.url}/api/sandboxes/{self.site.slug}/listen", data={}, headers=self.site.headers()
        )
        assert answer.ok, answer.text()
        return ";".join(answer.json()["name_servers"])

    # Steps.

    def act(self, action: str, **fields: str) -> None:
        assert self.site.act(action=action, **fields) == 204, (action, fields)

    def kill_server(self) -> None:
        self._restart(self.server.kill)

    def stop_server(self) -> None:
        self._restart(self.server.stop)

    def _restart(self, end: Callable[[], object]) -> None:
        end()
        expect(self.page.locator("#conn")).to_contain_text("Offline", timeout=PATIENCE_MS)
        self.server.start()
        self.page.locator(".app[data-conn=connected]").wait_for(timeout=PATIENCE_MS)
        until(lambda: self.site.snapshot()["groups"], what="the sandbox is open")
        self._name_servers = self._listen()
        self.go_on()


def number(text: str | None) -> int | None:
    return None if text is None else int(text)


def may_say(key: str, value: int | str | None, before: Numbers, after: Numbers) -> bool:
    """Is it what the API said before or after, or on the way?

    Of a queue whose master is down the API has the master's last end, and mqadmin the slave's, which may be less.
    """
    first, last = before.get(key), after.get(key)
    if not (isinstance(value, int) and isinstance(first, int) and isinstance(last, int)):
        return value in (first, last)
    apart = 0
    if key == "lag":  # neither grows nor falls alone: by no more than all ends and offsets moved
        apart = sum(abs(int(after[each] or 0) - int(before[each] or 0)) for each in before
                    if each in after and isinstance(before[each], int) and each != "lag")  # fmt: skip
        apart += LAST_MESSAGES * len(of_down(before))
    elif key in of_down(before):
        apart = LAST_MESSAGES
    return min(first, last) - apart <= value <= max(first, last) + (apart if key == "lag" else 0)


def of_down(numbers: Numbers) -> set[str]:
    """Ends that are a dead master's last ones."""
    return {key.replace("down", "max") for key, value in numbers.items() if value == "down"}


@pytest.fixture
def scene(page: Page, tmp_path: Path) -> Iterator[Scene]:
    home, folder = tmp_path / "home", tmp_path / "mqadmin"
    home.mkdir()
    folder.mkdir()
    server = Server(home).start()
    made = Scene(page, server, folder)
    yield made
    made.end()
    server.stop()


def test_page_api_and_mqadmin_agree_whatever_happens(scene: Scene, request: pytest.FixtureRequest) -> None:
    def acting(action: str, **fields: str) -> Callable[[], None]:
        return partial(scene.act, action, **fields)

    minutes = request.config.getoption("--minutes")
    scene.run([
        ("a crash", acting("CrashActor", actor="A")),
        ("its restart", acting("RestartActor", actor="A")),
        ("kill -9 of the server", scene.kill_server),
        ("a hang", acting("HangActor", actor="B")),
        ("its end", acting("ResumeActor", actor="B")),
        ("a dead master", acting("KillBroker", broker="broker-a")),
        ("a crash beside it", acting("CrashActor", actor="C")),
        ("the master's start", acting("StartBroker", broker="broker-a")),
        ("another start", acting("RestartActor", actor="C")),
        ("one client id twice", acting("StartConsumer", group=GROUP, actor="copy", client_id_of="A")),
        ("a crash of the copy", acting("CrashActor", actor="copy")),
        ("a power cut", acting("PowerCut", broker="broker-b")),
        ("a start after it", acting("StartBroker", broker="broker-b")),
        ("another subscription", acting("ChangeActor", actor="C", expression="paid")),
        ("the same subscription again", acting("ChangeActor", actor="C", expression="*")),
        ("a stop and start of the server", scene.stop_server),
    ], round(minutes * 60_000 / BETWEEN_MS))  # fmt: skip
    request.config.robustness_lines = [  # type: ignore[attr-defined]
        f"{scene.comparison.numbers} numbers of the page and {scene.said} of mqadmin, which said nothing at"
        f" {scene.silent} looks; the page agreed after {scene.slowest_s:.1f} s at most"
    ]
    assert scene.differ == []
    assert scene.said
