"""The keys of a keyboard, and nothing else: how a person without a mouse gets about a page."""

from playwright.sync_api import Locator, Page

MOST_LOOKS = 60  # on the way to one place

WAY = """(wanted) => {
    const now = document.activeElement;
    if (now === wanted) return ["there", 0];
    if (now?.type === "radio" && now.name === wanted.name && now.form === wanted.form) return ["ArrowDown", 1];
    const all = "a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex='0']";
    const ends = [wanted, now];
    const stops = [...document.querySelectorAll(all)].filter((it) => ends.includes(it) || it.checkVisibility());
    const before = Boolean(now.compareDocumentPosition(wanted) & Node.DOCUMENT_POSITION_PRECEDING);
    return [before ? "Shift+Tab" : "Tab", Math.abs(stops.indexOf(wanted) - stops.indexOf(now))];
}"""


class Keyboard:
    """Goes to what is wanted as the focus goes, and presses it there."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def press_twice(self, key: str) -> None:
        """Faster than any answer comes."""
        self.page.keyboard.press(key)
        self.page.keyboard.press(key)

    def go_to(self, wanted: Locator) -> None:
        """Tab, or Shift and Tab where it lies before; within a group of radio buttons, arrows.

        Looks where it is on the way: the page may be drawn anew meanwhile.
        """
        wanted.wait_for()
        for _ in range(MOST_LOOKS):
            key, about = wanted.evaluate(WAY)
            if key == "there":
                return
            for _ in range(max(1, about - 2)):
                self.press(key)
        raise AssertionError(f"{wanted} cannot be reached with the keyboard")

    def push(self, button: Locator) -> None:
        self.go_to(button)
        self.press("Enter")

    def write(self, field: Locator, text: object) -> None:
        """Instead of what stands there."""
        self.go_to(field)
        self.press("Control+a")
        self.page.keyboard.type(f"{text:g}" if isinstance(text, float) else str(text))

    def choose(self, chosen: Locator) -> None:
        """A radio button, wherever among the others."""
        self.go_to(chosen)
        if not chosen.is_checked():
            self.press("Space")

    def pick(self, select: Locator, value: str) -> None:
        """An option of a list, down from the first."""
        self.go_to(select)
        self.press("Home")
        for _ in range(MOST_LOOKS):
            if select.input_value() == value:
                return
            self.press("ArrowDown")
        raise AssertionError(f"{select} has no {value}")
