"""The cost of a board: bytes of its first view, elements, and processor time of the script of a frame."""

from math import inf

from playwright.sync_api import Page, expect

from tests.browser.conftest import Site

ROUNDS, FRAMES = 8, 30
PAINTED = """(most) => new Promise((done) => {
    let painted = 0, last = queueviz.painter.cost_ms;
    const look = () => {
        if (queueviz.painter.cost_ms !== last) [painted, last] = [painted + 1, queueviz.painter.cost_ms];
        painted < most ? requestAnimationFrame(look) : done();
    };
    look();
})"""

MOVED = """
window.animated = window.pins = 0;
const animate = Element.prototype.animate;
Element.prototype.animate = function (...args) {
    window.animated++;
    return animate.apply(this, args);
};
document.addEventListener("transitionrun", ({ target }) => (window.animated += target.matches(".meter *")));
new MutationObserver((changes) => (window.pins += changes.length))
    .observe(document, { subtree: true, attributeFilter: ["transform"] });
"""


WORK = """() => new Promise((done) => requestAnimationFrame(() => {
    const counts = new Map();
    let length = 0;
    for (let i = 0; i < 100_000; i++) {
        const name = `queue-${i % 97}`;
        counts.set(name, (counts.get(name) ?? 0) + i);
        length += name.length;
    }
    done(length + counts.size);
}))"""


def script_share(page: Page, at_most: float) -> float:
    """Return the processor time of scripts in a painted frame, as a share of that of `WORK` in the same page.

    A slow machine takes longer for both; other work on it makes a frame longer still, up to twice, so limits are twice
    the share on a quiet machine.  The first round within the limit counts, or the best.
    """
    chromium = page.context.new_cdp_session(page)
    chromium.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent_s() -> float:
        metrics = chromium.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))

    def of(script: str, argument: int | None = None) -> float:
        before_s = spent_s()
        page.evaluate(script, argument)
        return spent_s() - before_s

    best = inf
    for _ in range(ROUNDS):
        frame_s = of(PAINTED, FRAMES) / FRAMES
        best = min(best, frame_s / min(of(WORK) for _ in range(3)))
        if best <= at_most:
            break
    return best


def test_the_first_view_and_each_frame_are_light(site: Site) -> None:
    """On the wire: scripts, styles and fonts at most 120 kB, the page 20 kB; 4 ms a frame (product.md 6.4).

    `WORK` takes 12 ms on the machine of `tests/seconds.json`, and a frame 0.28 of it.
    """
    site.visit("orders")
    script = """performance.getEntries().filter((entry) => entry.encodedBodySize)
        .map((entry) => [new URL(entry.name).pathname, entry.encodedBodySize])"""
    sizes = dict(site.page.evaluate(script))
    static = {name: size for name, size in sizes.items() if name.startswith("/static/") and "uPlot" not in name}
    page = sizes[site.page.evaluate("location.pathname")]
    assert 20 * 1024 < sum(static.values()) <= 120 * 1024, static
    assert page <= 20 * 1024
    assert site.page.evaluate("document.querySelectorAll('*').length") <= 1_500
    assert script_share(site.page, at_most=0.7) <= 0.7


def test_a_frame_of_ninety_six_queues_is_light(site: Site) -> None:
    site.start("orders")  # on two brokers
    assert site.act(action="CreateTopic", topic="wide", write_queues="48", read_queues="48") == 204
    assert (
        site.act(
            action="StartConsumer",
            group="wide-svc",
            copies="2",
            work_ms="100,300",
            subscriptions='[{"topic":"wide","expression":"*"}]',
        )
        == 204
    )
    assert site.act(action="StartProducer", topic="wide", rate_per_s="200") == 204
    site.open("?group=wide-svc")
    expect(site.page.locator(".heat button")).to_have_count(96)
    assert script_share(site.page, at_most=1.0) <= 1.0


def test_what_moves_takes_its_steps_with_the_frames(site: Site) -> None:
    """An animation of the browser paints with each refresh of the screen: that costs more than all data of a board."""
    site.page.add_init_script(MOVED)
    site.visit("orders")
    dots = "document.querySelector('.lane.dots[d]')?.style.strokeDashoffset"
    site.until(f"Boolean({dots})")
    site.until(f"(before) => {dots} !== before", site.page.evaluate(dots))
    site.page.evaluate("window.pins = window.animated = 0")
    site.until("window.pins > 10")
    assert site.page.evaluate("window.animated") == 0
