"""References of code and docs exist: specification, catalogue, product, decisions, pages."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from queueviz.fidelity.ledger import ledger

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SPEC = DOCS / "spec"
PAGES = ("store-format", "remoting", "broker-behaviour", "client-behaviour", "observed", "catalogue", "product")
IN_CLAIMS = {
    "store": "store-format",
    "remoting": "remoting",
    "broker": "broker-behaviour",
    "client": "client-behaviour",
    "observed": "observed",
}

SCANNED = ("sandbox", "queueviz", "tests", "static/queueviz", "templates", "script", "docs", ".ci")
KINDS = {".py", ".js", ".css", ".html", ".md", ".toml", ".yaml", ".txt", ""}

GAP = r"(?:[ \t]|\n[ \t]*(?:\#|//|\*)?[ \t]*)+"  # blanks, or the end of a line and the mark of a comment
NUMBER = r"\d+(?:\.\d+)*"
NUMBERS = rf"(?P<numbers>{NUMBER}(?:(?:,|{GAP}and|{GAP}to){GAP}{NUMBER}\b)*)"
NAMED = re.compile(rf"\b(?P<page>{'|'.join(PAGES)}):?{GAP}{NUMBERS}", re.IGNORECASE)
NAMELESS = re.compile(rf"\b(?P<page>spec(?:{GAP}(?!(?:{'|'.join(PAGES)})\b)[a-z-]+)?):?{GAP}{NUMBERS}", re.IGNORECASE)
DECISION = re.compile(rf"\bdecisions?{GAP}(?P<number>\d+)\b", re.IGNORECASE)
OWN_SECTION = re.compile(rf"\bsections?{GAP}{NUMBERS}")  # within a page of the specification
PAGE_PATH = re.compile(r"\bdocs/(?P<path>[\w./-]+\.md)\b")
LINK = re.compile(r"\]\((?P<path>[^)\s#:]*)(?:#(?P<anchor>[^)\s]+))?\)")
HEADING = re.compile(rf"^#{{2,4}} (?P<number>{NUMBER})\.? ", re.MULTILINE)


def files() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield ROOT / "SECURITY.md"
    yield ROOT / "pyproject.toml"
    for top in SCANNED:
        yield from (
            path
            for path in sorted((ROOT / top).rglob("*"))
            if path.is_file() and path.suffix in KINDS and "__pycache__" not in path.parts
        )


@cache
def sections(page: str) -> frozenset[str]:
    """Numbers of the headings of a page of the specification."""
    return frozenset(found["number"] for found in HEADING.finditer((SPEC / f"{page}.md").read_text("utf-8")))


@cache
def decisions() -> frozenset[int]:
    return frozenset(int(path.name[:4]) for path in (DOCS / "decisions").glob("[0-9][0-9][0-9][0-9]-*.md"))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings)


def missing(page: str, numbers: str) -> list[str]:
    return [number for number in re.findall(NUMBER, numbers) if number not in sections(page)]


def broken(text: str, own_page: str = "") -> Iterator[tuple[int, str]]:
    """Offset and sentence of each reference that leads nowhere.  `own_page`: the text is that page's."""
    for found in NAMED.finditer(text):
        page = found["page"].lower()
        for number in missing(page, found["numbers"]):
            yield found.start(), f"docs/spec/{page}.md has no section {number}"
    for found in NAMELESS.finditer(text):
        yield found.start(), f"{' '.join(found['page'].split())} {found['numbers']} names no page of docs/spec"
    for found in DECISION.finditer(text):
        if int(found["number"]) not in decisions():
            yield found.start(), f"docs/decisions has no {found['number']}"
    for found in PAGE_PATH.finditer(text):
        if not (DOCS / found["path"]).is_file():
            yield found.start(), f"there is no docs/{found['path']}"
    if own_page:
        for found in OWN_SECTION.finditer(text):
            for number in missing(own_page, found["numbers"]):
                yield found.start(), f"this page has no section {number}"


def broken_links(page: Path) -> Iterator[tuple[int, str]]:
    text = page.read_text("utf-8")
    for found in LINK.finditer(text):
        target = (page.parent / found["path"]).resolve() if found["path"] else page
        if not target.exists():
            yield found.start(), f"there is no {found['path']}"
        elif found["anchor"] and target.suffix == ".md" and found["anchor"] not in anchors(target):
            yield found.start(), f"{target.name} has no heading #{found['anchor']}"


def places(path: Path, text: str, found: Iterator[tuple[int, str]]) -> list[str]:
    """`sandbox/x.py:12: docs/spec/remoting.md has no section 99`."""
    return [f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, offset) + 1}: {why}" for offset, why in found]


def test_every_numbered_reference_has_its_heading() -> None:
    found: list[str] = []
    for path in files():
        text = path.read_text("utf-8", errors="replace")
        found += places(path, text, broken(text, path.stem if path.parent == SPEC and path.stem in PAGES else ""))
    assert found == []


def test_every_link_between_pages_leads_somewhere() -> None:
    found: list[str] = []
    for page in (ROOT / "README.md", ROOT / "SECURITY.md", *sorted(DOCS.rglob("*.md"))):
        found += places(page, page.read_text("utf-8"), broken_links(page))
    assert found == []


def test_every_claim_names_sections_that_are_there() -> None:
    found: list[str] = []
    for row, claim in ledger().items():
        said = claim.source.partition("; ")[2]
        references = re.findall(rf"(\w+) ({NUMBER}(?:, {NUMBER})*)", said)
        if ", ".join(f"{page} {numbers}" for page, numbers in references) != said or not said:
            found.append(f"{row}: {claim.source!r} does not end in sections such as `store 2.1, 4`")
        for page, numbers in references:
            found += [
                f"{row}: {page} {number}"
                for number in (missing(IN_CLAIMS[page], numbers) if page in IN_CLAIMS else re.findall(NUMBER, numbers))
            ]
    assert found == []


MADE_UP = {
    "spec store-format {}": "docs/spec/store-format.md has no section {}",
    "spec remoting 2.2, {}": "docs/spec/remoting.md has no section {}",
    "spec broker-behaviour 2 and {}": "docs/spec/broker-behaviour.md has no section {}",
    "spec remoting 2.2 to\n    # {}": "docs/spec/remoting.md has no section {}",
    "client-behaviour\n    {}": "docs/spec/client-behaviour.md has no section {}",
    "Catalogue {}": "docs/spec/catalogue.md has no section {}",
    "product {}": "docs/spec/product.md has no section {}",
    "spec {}": "spec {} names no page of docs/spec",
    "spec broker {}": "spec broker {} names no page of docs/spec",
    "decision {}": "docs/decisions has no {}",
    "docs/{}.md": "there is no docs/{}.md",
}


def test_made_up_references_are_reported() -> None:
    texts = {words: f"first line\n({words.format('99')})" for words in MADE_UP}
    assert {words: places(ROOT / "x.py", text, broken(text)) for words, text in texts.items()} == {
        words: [f"x.py:2: {reason.format('99')}"] for words, reason in MADE_UP.items()
    }


def test_a_made_up_section_and_link_are_found(tmp_path: Path) -> None:
    assert [why for _, why in broken("as in section 99", "observed")] == ["this page has no section 99"]
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n[a](nowhere.md) [b](#nothing) [c](#page) [d](https://example.org)\n")
    assert [why for _, why in broken_links(page)] == ["there is no nowhere.md", "page.md has no heading #nothing"]


def test_references_that_resolve_are_left_alone() -> None:
    text = "(spec store-format 2.1, 4 and 8, client-behaviour 3.1; catalogue 7 and 8; decision 0009), docs/live.md"
    assert list(broken(text)) == []
