"""Templates read like the page they make: one element a line."""

import re
from pathlib import Path

from django.template import Context, Template
from django.template.loader import get_template

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
WALL = 200  # characters of a line
BLOCKS = (
    "article|aside|caption|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|header"
    "|legend|li|main|nav|ol|p|section|summary|table|tbody|td|tfoot|th|thead|tr|ul"
)
# A block that begins on the line on which another one ends. What follows `else` or `elif` stands in its place.
TWO = re.compile(rf"</(?:{BLOCKS})>(?:(?!\{{% el).)*<(?:{BLOCKS})\b")


def name(path: Path) -> str:
    return path.relative_to(ROOT / "templates" / "queueviz").as_posix()


def guilty(is_bad: "re.Pattern[str]") -> list[str]:
    return [
        f"{name(path)}:{number}: {line.strip()[:90]}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if is_bad.search(line)
    ]


def test_no_line_is_longer_than_200_characters() -> None:
    assert guilty(re.compile(rf".{{{WALL + 1}}}")) == []


def test_no_two_blocks_stand_on_one_line() -> None:
    assert guilty(TWO) == []


def test_two_blocks_are_distinguished_from_one_and_its_content() -> None:
    two = ["<tr><td>1</td><td>2</td></tr>", "</p>{% if x %}<p>{% endif %}", "<li><p>a</p> <p>b</p></li>"]
    one = [
        "<li><b>a</b> <i>b</i></li>",
        "{% if x %}<td>1</td>{% else %}<td>–</td>{% endif %}",
        '<div class="row"><p>a</p></div>',
    ]
    assert [line for line in two + one if TWO.search(line)] == two


def test_every_template_compiles() -> None:
    """A tag that Django cannot split raises StopIteration, which a server's thread cannot hand on: the page hangs."""
    for path in TEMPLATES:
        get_template(path.relative_to(ROOT / "templates").as_posix())


def test_a_head_aligns_a_column_and_a_field_escapes_its_label() -> None:
    page = Template(
        '{% load layout %}{% heads "Tag" ">" "Lag" %}{% fact label css="num" %} 1 {% endfact %}'
        "{% labelled label %}<input>{% endlabelled %}"
    )
    assert page.render(Context({"label": "<b>"})) == (
        '<thead><tr><th scope="col">Tag</th><th scope="col" class="r">Lag</th></tr></thead>'
        '<div><dt>&lt;b&gt;</dt><dd class="num">1</dd></div><label class="field">&lt;b&gt; <input></label>'
    )
