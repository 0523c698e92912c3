"""Violations of a page that axe reports, in both themes and at two widths, and targets too small for a finger.

Colours are half of the cost. Themes differ in colours alone, which do not depend on the width: they are checked in
light on a desk and in dark on a phone, everything else in light at both widths.
"""

from collections.abc import Sequence

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE

OF_COLOURS = ("color-contrast", "link-in-text-block")
_SCRIPT = Axe().axe_script


def violations(page: Page, rules: Sequence[str] = (), without: Sequence[str] = (), within: str = "html") -> list[str]:
    """Return rule and place of each violation, once nothing is pale because it is being computed anew.

    Args:
        rules: these alone; none: all.
        without: rules to leave out.
        within: selector of the part to check.
    """
    page.wait_for_function("() => !document.querySelector('[aria-busy=true]')", timeout=PATIENCE_MS)
    if not page.evaluate("'axe' in window"):
        page.evaluate(_SCRIPT)
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    options |= {"rules": {rule: {"enabled": False} for rule in without}}
    script = "([within, options]) => axe.run(within, options).then((result) => result.violations)"
    broken = page.evaluate(script, [within, options])
    return [f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in broken for node in rule["nodes"]]


def faults(page: Page, within: str = "html") -> list[str]:
    """Return the violations of the page as wide as it is, and whether it is wider than the screen."""
    width = (page.viewport_size or DESKTOP)["width"]
    page.emulate_media(reduced_motion="reduce")  # a colour that changes is not a colour
    runs = [("light", (), ())] if width == DESKTOP["width"] else [("dark", OF_COLOURS, ()), ("light", (), OF_COLOURS)]
    broken = []
    for theme, rules, without in runs:
        page.evaluate("(theme) => document.documentElement.dataset.theme = theme", theme)
        broken += [f"{page.url}, {theme}, {width} px: {each}" for each in violations(page, rules, without, within)]
    if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        broken.append(f"{page.url} is wider than {width} px")
    return broken


def faults_at_both_widths(page: Page, within: str = "html") -> list[str]:
    """Return the violations on a desk and on a phone; on the phone, targets that are too small, too."""
    broken = []
    for viewport in (DESKTOP, PHONE):
        page.set_viewport_size(viewport)
        broken += faults(page, within)
    return broken + small_targets(page)


def small_targets(page: Page) -> list[str]:
    """Return controls smaller than 24 by 24 px; a link within a sentence may be (WCAG 2.2, 2.5.8)."""
    return list(
        page.evaluate("""() => {
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
    }""")
    )
