"""The field's words: docstrings, comments and names do without poetic and personal ones."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
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
PHRASES = re.compile(r"\b(who looks|looks on|stands? still|put to sleep|falls? asleep|says? goodbye)\b", re.IGNORECASE)

# Packages and files still to be done.  This list only becomes shorter.
NOT_YET = ("tests/interop", "tests/pipeline", "tests/seed")
# Words that are terms of the field there, or names on the wire, on disk or in settings.
TERMS = {
    "queueviz/api/runs.py": {"stage"},  # of Spark
    "queueviz/boards/rebalance_views.py": {"told"},  # a key its template names
    "queueviz/models.py": {"stage"},  # of Spark
    "queueviz/runs/run_view.py": {"stage"},  # of Spark
    "sandbox/pipeline": {"stage", "stages"},  # of Spark, and a column of `latency`
    "sandbox/transport/tcp_limits.py": {"told"},  # refusals_told_per_s, a limit by name
    "sandbox/journal/events/offsets.py": {"told"},  # a step of OffsetsReset
    "sandbox/queries/rows/locks.py": {"told"},  # a key of its JSON
    "sandbox/queries/rows/walks.py": {"told"},  # likewise
    "tests": {"stage", "stages"},  # the engine parts a test plays with
}

ALL = {
    path.relative_to(ROOT).as_posix(): path
    for scope in ("queueviz", "sandbox", "tests")
    for path in sorted((ROOT / scope).rglob("*.py"))
}
FILES = {name: path for name, path in ALL.items() if not name.startswith(NOT_YET)}


def prose(text: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings (also of constants) and comments with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, cleandoc(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def plain(text: str) -> str:
    """Without code spans, quotations and indented blocks."""
    return re.sub(r"`[^`]*`|\"[^\"]*\"|^ {4,}.*$", " ", text, flags=re.MULTILINE)


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names a file gives: of functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def split_names(text: str) -> str:
    """`HeartBeat` → `heartbeat`, `StoreView` → `store_view`."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text).lower().replace("heart_beat", "heartbeat")


def words_of_name(name: str) -> list[str]:
    return split_names(name).split("_")


def found(text: str, allowed: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    """Lines and words that are none of the field's."""
    bad = WORDS - allowed
    if bad.isdisjoint(re.findall("[a-z]+", split_names(text))) and not PHRASES.search(text):
        return []  # most files, which are not parsed then
    tree = ast.parse(text)
    texts = [(line, plain(part)) for line, part in prose(text, tree)]
    places = [(line, word) for line, part in texts for word in re.findall(r"[a-z_]+", part.lower()) if word in bad]
    places += [(line, phrase.group()) for line, part in texts for phrase in PHRASES.finditer(part)]
    places += [(line, name) for line, name in names(tree) if bad & {*words_of_name(name)}]
    return sorted(places)


def terms_of(name: str) -> frozenset[str]:
    return frozenset[str]().union(*(words for place, words in TERMS.items() if name.startswith(place)))


def test_words_are_the_fields() -> None:
    assert [
        f"{name}:{line}: {word}"
        for name, path in FILES.items()
        for line, word in found(path.read_text("utf-8"), terms_of(name))
    ] == []


def test_it_finds_them_in_docstrings_comments_and_names() -> None:
    code = ("def tell(story: str) -> None:", '    """`told` stays."""', "    heard = story  # dear")
    text = "\n".join(('"""Everybody\'s diary."""', *code)) + "\n"
    assert found(text) == [(1, "diary"), (1, "everybody"), (2, "story"), (2, "tell"), (4, "dear")]


def test_what_is_not_done_yet_exists_and_needs_it() -> None:
    assert [
        place
        for place in NOT_YET
        if not any(found(path.read_text("utf-8")) for name, path in ALL.items() if name.startswith(place))
    ] == [], "done: take it from the list"
