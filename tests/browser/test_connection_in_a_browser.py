"""The live socket: cut, stale, and back in one paint; and the lags painted of any frame."""

import copy
import random
from typing import Any

from playwright.sync_api import WebSocketRoute, expect

from queueviz.templatetags.formats import number
from sandbox.control.readings import Reading
from sandbox.live import frames
from sandbox.queries.snapshot.board import lag_of
from tests.browser.conftest import Site, Wire

COUNT_ANIMATIONS = """
window.animations = 0;
const animate = Element.prototype.animate;
Element.prototype.animate = function (...args) {
    window.animations++;
    return animate.apply(this, args);
};
const pins = (changes) => changes.filter(({ target }) => target.matches(".s .pin[transform]")).length;
new MutationObserver((changes) => (window.animations += pins(changes)))
    .observe(document, { subtree: true, attributeFilter: ["transform"] });
"""


def numbers(site: Site) -> dict[str, str]:
    script = """Object.fromEntries([...document.querySelectorAll('.q')].map((row) =>
        [row.dataset.queue, row.querySelector('.t-max').textContent.replace(/\\u2009/g, '')]))"""
    return dict(site.page.evaluate(script))


def test_a_cut_of_twenty_seconds_is_caught_up_in_one_paint(site: Site, wire: Wire) -> None:
    site.page.add_init_script(COUNT_ANIMATIONS)
    site.start("orders")
    assert site.act(action="StartProducer", topic="orders", rate_per_s="100") == 204
    wire.cut()
    expect(site.page.locator("#notice .banner")).to_be_visible()
    expect(site.page.locator(".app")).to_have_attribute("data-conn", "offline")
    expect(site.page.locator("#clock .wall")).to_be_hidden()
    begun = site.snapshot()["at_ms"]
    assert site.act(action="SetRate", rate="4") == 204
    while (seen := site.snapshot())["at_ms"] - begun < 20_000:  # the sandbox's seconds: it runs on without us
        site.page.evaluate("new Promise(requestAnimationFrame)")
    assert int(seen["seq"]) > 1_000
    seen = site.stand_still()
    wire.mend()
    site.page.evaluate("window.animations = 0")
    site.page.evaluate("document.querySelector('#notice .banner button')?.click()")  # or it has just tried by itself
    site.wait_connected()
    ends = site.ends(seen)
    first = "document.querySelector('.q .t-max').textContent.replace(/\\u2009/g, '')"
    site.until(f"(end) => {first} === end", ends["broker-a:0"])
    assert numbers(site) == ends
    assert site.page.evaluate("window.animations") == 0
    expect(site.page.locator("#clock .wall")).to_contain_text("wall ")  # the sandbox's clock went ahead of it


def test_until_the_first_picture_comes_again_the_page_says_that_it_shows_what_was(site: Site, wire: Wire) -> None:
    site.start("orders")
    wire.cut()
    expect(site.page.locator(".app")).to_have_attribute("data-conn", "offline")
    wire.has_pictures = False
    wire.mend()
    expect(site.page.locator(".app")).to_have_attribute("data-conn", "opening")
    expect(site.page.locator("#conn .word")).to_have_text("Opening")
    assert site.page.evaluate("getComputedStyle(document.querySelector('#rail')).filter") != "none"
    expect(site.page.locator(".toast")).to_have_count(0)
    wire.has_pictures = True
    wire.cut()
    wire.mend()
    site.wait_connected()
    assert site.page.evaluate("getComputedStyle(document.querySelector('#rail')).filter") == "none"


LAGS = """() => {
    const rows = [...document.querySelectorAll('.q')]
        .map((row) => [row.dataset.queue, row.querySelector('.lagn span')]);
    return [document.querySelector('#k-lag').firstChild.data,
            Object.fromEntries(rows.map(([queue, lag]) => [queue, lag.textContent]))];
}"""


def test_whatever_frames_come_a_lag_is_max_less_committed_and_the_header_is_their_sum(site: Site) -> None:
    """The page is painted by the server while messages wait that no one pulls; then any frames follow."""
    site.start("orders")
    site.until("[...document.querySelectorAll('.q .lagn .lag')].every((lag) => lag.textContent !== '–')")
    for actor in "ABC":
        assert site.act(action="CrashActor", actor=actor) == 204
    assert site.act(action="SendMessages", topic="orders", count="200") == 204
    site.stand_still()
    opened: list[WebSocketRoute] = []

    def take(socket: WebSocketRoute) -> None:
        opened.append(socket)

    site.page.route_web_socket("**/ws/live/", take)
    site.page.goto(f"{site.base_url}/s/{site.slug}/")
    site.until("globalThis.queueviz?.live")
    site.until("document.querySelectorAll('#rows path.lag[d]').length === 8")
    (name, first), *_ = site.page.evaluate("Object.entries(queueviz.config.first)")
    board, luck = first["data"], random.Random(4)
    before = copy.deepcopy(board)
    for n in range(1, 41):
        at = Reading(n, first["at_ms"] + n, 1, "epoch", board)
        if n % 13 == 1:  # now and then all of it
            text = frames.snap(name, n, at)
        else:
            text = frames.delta(name, n, at, frames.changes(before, board), pace_changed=False)
        opened[-1].send(text)
        site.until("([name, n]) => queueviz.live.channels.get(name).painted === n", [name, n])
        lags = {key: lag(row) for key, row in board["queues"].items()}
        known = [each for each in lags.values() if each is not None]
        shown = {key: number(each) for key, each in lags.items()}
        assert site.page.evaluate(LAGS) == [number(sum(known) if known else None), shown], n
        before, board = board, any_board(luck, copy.deepcopy(board))


def lag(row: dict[str, Any]) -> int | None:
    """From 0 where the group has no offset in a queue that it reads."""
    if row["committed"] is None and not row["from_zero"]:
        return None
    return int(row["max"]) - int(row["committed"] or 0)


def any_board(luck: random.Random, board: dict[str, Any]) -> dict[str, Any]:
    """Another one: messages come, commits go forward and back, beyond the end and away, queues and members leave and
    return."""
    queues, members = board["queues"], board["members"]
    for key in luck.sample(sorted(queues), luck.randint(0, min(4, len(queues)))):
        high = int(queues[key]["max"]) + luck.choice([0, 0, 1, 900])
        committed = luck.choice([None, "0", str(high), str(high + 5), str(luck.randint(0, high))])
        queues[key] |= {
            "max": str(high),
            "committed": committed,
            "owner": luck.choice([None, *members]),
            "from_zero": committed is None and luck.random() < 0.5,
        }
    if queues and luck.random() < 0.2:
        del queues[luck.choice(sorted(queues))]
    if queues and luck.random() < 0.2:
        queues[f"broker-c:{luck.randint(0, 3)}"] = {**luck.choice(list(queues.values()))}
    if members and luck.random() < 0.1:
        del members[luck.choice(sorted(members))]
    board["header"] |= {"lag": lag_of(queues)}
    return board


def test_an_offline_page_says_so_still_acts_and_tries_again_by_itself(site: Site, wire: Wire) -> None:
    page = site.visit("orders")
    page.route("**/actions/", lambda route: route.abort())
    page.locator(".cons[data-actor=A] [data-act=HangActor]").click()
    expect(page.locator(".cons .refusal")).to_contain_text("The server did not answer")
    page.unroute("**/actions/")
    wire.cut()
    expect(page.locator("#notice .banner")).to_contain_text("shows event #")
    expect(page.locator("#conn")).to_contain_text("Offline")
    assert float(page.locator("#main").evaluate("(it) => getComputedStyle(it).opacity")) < 1
    for control in ("#add", ".cons[data-actor=A] [data-act=CrashActor]"):
        expect(page.locator(control)).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Send burst").click()
    page.locator("#ask").get_by_role("button", name="Send").click()
    expect(page.locator("#ask")).to_be_hidden()
    wire.mend()
    site.wait_connected()
    expect(page.locator(".cons .refusal")).to_have_count(0)
    expect(page.locator("#notice .banner")).to_be_hidden()
