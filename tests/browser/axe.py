"""What axe and a finger find wrong with a page, in both themes and at two widths.

Themes differ in colours alone, so the second is asked for what depends on them: a whole look takes five times as long.
"""

from collections.abc import Sequence

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE

OF_COLOURS = ("color-contrast", "link-in-text-block")
_SCRIPT = Axe().axe_script


def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Rule, and the places where it is broken, once nothing is pale because it is being computed anew.

    `rules`: these alone; none: all."""
    page.wait_for_function("() => !document.querySelector('[aria-busy=true]')", timeout=PATIENCE_MS)
    if not page.evaluate("'axe' in window"):
        page.evaluate(_SCRIPT)
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = page.evaluate("(options) => axe.run(options).then((result) => result.violations)", options)
    return [f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in found for node in rule["nodes"]]


def faults(page: Page) -> list[str]:
    """Of the page as wide as it is: violations in either theme, and whether it is wider than the screen."""
    width = (page.viewport_size or DESKTOP)["width"]
    page.emulate_media(reduced_motion="reduce")  # a colour on its way is not a colour
    found = []
    for theme, rules in (("dark", OF_COLOURS), ("light", ())):
        page.evaluate("(theme) => document.documentElement.dataset.theme = theme", theme)
        found += [f"{page.url}, {theme}, {width} px: {each}" for each in violations(page, rules)]
    if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        found.append(f"{page.url} is wider than {width} px")
    return found


def faults_at_both_widths(page: Page) -> list[str]:
    """And on a phone, targets that are too small."""
    found = []
    for viewport in (DESKTOP, PHONE):
        page.set_viewport_size(viewport)
        found += faults(page)
    return found + small_targets(page)


def small_targets(page: Page) -> list[str]:
    """What can be touched and is smaller than 24 by 24 px; a link within a sentence may be (WCAG 2.2, 2.5.8)."""
    return list(page.evaluate("""() => {
        const all = "a[href], button, input, select, textarea, summary, [role=slider], label:has(> input)";
        const within = (it) => getComputedStyle(it).display === "inline"
            && [...it.parentElement.childNodes].some((one) => one.nodeType === Node.TEXT_NODE && one.data.trim());
        const found = [];
        for (const it of document.querySelectorAll(all)) {
            const box = it.getBoundingClientRect();
            const seen = it.checkVisibility({ visibilityProperty: true }) && box.right > 0;
            if (!seen || it.matches("label > input")) continue;
            if (box.width < 23.9 || box.height < 23.9)
                if (!within(it)) found.push(`${it.outerHTML.slice(0, 120)} ${box.width} × ${box.height}`);
        }
        return found;
    }"""))
