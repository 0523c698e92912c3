"""Plain technical English: code, sentences, pages, scripts and documents do without poetic and personal words."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from inspect import cleandoc
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    stranger strangers somebody nobody whoever anybody everybody dear dearer dearest told untold tell tells lend lends
    lent story stories deed deeds walls door doors diary diaries ground tenant tenants heart stage stages""",
    )
)
PHRASES = re.compile(
    r"\b(who looks|looks on|st(?:ands?|ood) still|put to sleep|falls? asleep|says? goodbye|no one (?:of|who)"
    r"|g[ia]ves? up|giv(?:en|ing) up|c[oa]mes? twice|heard (?:of|from)|last heard|kn(?:ows?|own) of"
    r"|waits? for nothing|divided? alike)\b",
    re.IGNORECASE,
)
# Terms of the field there, and names on the wire, on disk or in settings.
TERMS = {
    "queueviz/api/runs.py": {"stage"},  # of Spark
    "queueviz/models.py": {"stage", "whoever"},  # of Spark; a label that migrations keep
    "queueviz/runs/progress_line.py": {"stage"},  # of Spark
    "queueviz/migrations": {"whoever"},
    "queueviz/locale": {"stage", "stages"},  # of Spark
    "templates/queueviz/partials/run_state.html": {"stage"},  # of Spark
    "queueviz/boards/rebalance_views.py": {"told"},  # a key its template names
    "queueviz/runs/run_view.py": {"stage"},  # of Spark
    "sandbox/pipeline": {"stage", "stages"},  # of Spark, and a column of `latency`
    "sandbox/transport/tcp_limits.py": {"told"},  # `refusals_told_per_s`, a limit by name
    "sandbox/journal/events/offsets.py": {"told"},  # a step of OffsetsReset
    "sandbox/queries/rows/locks.py": {"told"},  # a key of its JSON
    "script/test": {"stages"},  # tests.stages
    "static/queueviz/js/still": {"ground"},  # a class of the SVG
    "docs/testing.md": {"stage", "stages"},  # tests.stages
    "docs/decisions/0024": {"stage"},
    "docs/pipeline-speed.md": {"stage"},  # of Spark
    "sandbox/queries/rows/walks.py": {"told"},  # likewise
    "tests": {"stage", "stages"},  # the engine parts a test plays with
}
# Words and phrases of documents and labels that are still to be rewritten, by file.  The numbers only fall.
LEFT = {
    "docs/spec/broker-behaviour.md": 3,
    "docs/spec/catalogue.md": 2,
    "docs/spec/client-behaviour.md": 3,
    "docs/spec/remoting.md": 5,
    "docs/spec/store-format.md": 2,
    "queueviz/locale/zh_Hans/LC_MESSAGES/django.po": 1,
}

Lines = Iterator[tuple[int, str]]


def python(text: str, *, strings: bool = False) -> Lines:
    """Comments, docstrings and names of a Python file; with `strings` its other strings of several words."""
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as words) as constant):  # also of constants
                docstrings.add(id(constant))
                yield node.lineno, plain(cleandoc(words))
            case ast.Constant(value=str() as words) if strings and " " in words and id(node) not in docstrings:
                yield node.lineno, plain(words)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, split_names(node.name)
            case ast.arg():
                yield node.lineno, split_names(node.arg)
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, split_names(node.id)
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, split_names(node.attr)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], plain(token.string)


product = partial(python, strings=True)


def template(text: str) -> Lines:
    """Text and comments outside tags and elements."""
    yield from enumerate(re.sub(r"{%.*?%}|{{.*?}}|<[^>]*>", blank, text, flags=re.DOTALL).split("\n"), 1)


def markdown(text: str) -> Lines:
    """Prose outside code blocks, code spans and quotations."""
    yield from enumerate(plain(re.sub(r"^```.*?^```", blank, text, flags=re.DOTALL | re.MULTILINE)).split("\n"), 1)


def parts(pattern: str) -> Callable[[str], Lines]:
    """Return a reader of the parts that match and have several words; `${…}` of JavaScript is code."""

    def read(text: str) -> Lines:
        for match in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
            if " " in match[0]:
                yield text.count("\n", 0, match.start()) + 1, re.sub(r"\${[^}]*}", " ", match[0])

    return read


STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
SCOPES: tuple[tuple[str, Callable[[str], Lines]], ...] = (  # product: Python whose strings people read
    ("queueviz/**/*.py", product),
    ("sandbox/**/*.py", product),
    ("script/*.py", product),
    ("tests/**/*.py", python),
    ("templates/**/*.html", template),
    ("static/queueviz/**/*.js", parts(rf"/\*.*?\*/|//[^\n]*|{STRING}|`(?:\\.|[^`\\])*`")),
    ("static/queueviz/**/*.css", parts(r"/\*.*?\*/")),
    ("queueviz/locale/*/LC_MESSAGES/django.po", parts(r'^msgid "[^\n]*"$')),
    ("script/[!.]*[!y]", parts(rf"(?:^|\s)#[^\n]*|{STRING}")),
    ("script/*/*.toml", parts(rf"(?:^|\s)#[^\n]*|{STRING}")),
    ("docs/**/*.md", markdown),
    ("README.md", markdown),
)


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def plain(text: str) -> str:
    """Without code spans, quotations and indented blocks."""
    return re.sub(r"`[^`]*`|\"[^\"]*\"|^ {4,}.*$", blank, text, flags=re.MULTILINE)


def split_names(text: str) -> str:
    """`HeartBeat` → `heartbeat`, `StoreView` → `store view`."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text).lower().replace("heart_beat", "heartbeat").replace("_", " ")


def found(text: str, read: Callable[[str], Iterable[tuple[int, str]]], allowed: Iterable[str] = ()) -> list[str]:
    """Lines and words that are none of the field's, as `3: told`."""
    bad = WORDS.difference(allowed)
    if bad.isdisjoint(re.findall("[a-z]+", split_names(text))) and not PHRASES.search(text):
        return []  # most files, which are not parsed then
    lines = list(read(text))
    places = [(line, word) for line, part in lines for word in re.findall("[a-z]+", part.lower()) if word in bad]
    places += [(line, phrase[0].lower()) for line, part in lines for phrase in PHRASES.finditer(part)]
    return [f"{line}: {word}" for line, word in sorted(places)]


def found_by_file() -> dict[str, list[str]]:
    rows = {}
    for glob, read in SCOPES:
        for path in filter(Path.is_file, sorted(ROOT.glob(glob))):
            name = path.relative_to(ROOT).as_posix()
            allowed = set[str]().union(*(words for place, words in TERMS.items() if name.startswith(place)))
            rows[name] = found(path.read_text("utf-8"), read, allowed)
    return rows


def test_words_are_the_fields() -> None:
    rows = found_by_file()
    assert [f"{name}:{row}" for name in rows if name not in LEFT for row in rows[name]] == []
    assert {name: len(rows[name]) for name, most in LEFT.items() if len(rows.get(name, ())) > most} == {}


def test_it_finds_them_in_docstrings_comments_and_names() -> None:
    code = ("def tell(story: str) -> None:", '    """`told` stays."""', "    heard = story  # dear")
    text = "\n".join(('"""Everybody\'s diary."""', *code)) + "\n"
    assert found(text, python) == ["1: diary", "1: everybody", "2: story", "2: tell", "4: dear"]


def test_it_finds_them_in_strings_pages_scripts_and_documents() -> None:
    readers = dict(SCOPES)
    for scope, text in (
        ("queueviz/**/*.py", 'raise ValueError(f"{name} gives up.")\nkey = "told"\n'),
        ("templates/**/*.html", '<p class="told">It gives up.{% if told %}{# #}{% endif %}</p>\n'),
        ("static/queueviz/**/*.js", 'const key = "told"; // It gives up.\n'),
        ("queueviz/locale/*/LC_MESSAGES/django.po", 'msgid "It gives up."\nmsgstr "told"\n'),
        ("script/[!.]*[!y]", "echo 'It gives up.'; told\n"),
        ("docs/**/*.md", "It gives up: `told`.\n```\ntold\n```\n"),
    ):
        assert found(text, readers[scope]) == ["1: gives up"], scope
