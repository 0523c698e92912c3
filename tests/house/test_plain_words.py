"""The field's words: docstrings, comments and names do without poetic and personal ones."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = frozenset(re.findall(r"\w+", """
    stranger strangers somebody nobody whoever anybody everybody dear dearer dearest told untold tell tells lend lends
    lent story stories deed deeds walls door doors diary diaries ground tenant tenants heart stage stages"""))
PHRASES = re.compile(r"\b(who looks|looks on|stands? still|put to sleep|falls? asleep|says? goodbye)\b", re.IGNORECASE)

# Packages and files still to be done.  This list only becomes shorter.
NOT_YET = ("tests/interop", "tests/pipeline", "tests/seed")
# Words that are terms of the field there, or names on the wire, on disk or in settings.
TERMS = {
    "queueviz/api_runs.py": {"stage"},  # of Spark
    "queueviz/models.py": {"stage"},  # of Spark
    "sandbox/pipeline": {"stage", "stages"},  # of Spark, and a column of `latency`
    "sandbox/transport/tcp_limits.py": {"told"},  # refusals_told_per_s, a limit by name
    "sandbox/journal/events/offsets.py": {"told"},  # a step of OffsetsReset
    "sandbox/queries/rows/locks.py": {"told"},  # a key of its JSON
    "tests": {"stage", "stages"},  # the engine parts a test plays with
}

ALL = {path.relative_to(ROOT).as_posix(): path for scope in ("queueviz", "sandbox", "tests")
       for path in sorted((ROOT / scope).rglob("*.py"))}
FILES = {name: path for name, path in ALL.items() if not name.startswith(NOT_YET)}


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Docstrings (also of constants) and comments with their lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, cleandoc(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def plain(text: str) -> str:
    """Without code spans, quotations and indented blocks."""
    return re.sub(r"`[^`]*`|\"[^\"]*\"|^ {4,}.*$", " ", text, flags=re.MULTILINE)


def names(text: str) -> Iterator[tuple[int, str]]:
    """Names a file gives: of functions, classes, parameters, variables and attributes."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def words_of_name(name: str) -> list[str]:
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().replace("heart_beat", "heartbeat").split("_")


def found(text: str, allowed: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    """Lines and words that are none of the field's."""
    bad = WORDS - allowed
    places = [(line, word) for line, text_of in prose(text) for word in re.findall(r"[a-z_]+", plain(text_of).lower())
              if word in bad]
    places += [(line, phrase.group()) for line, text_of in prose(text) for phrase in PHRASES.finditer(plain(text_of))]
    places += [(line, name) for line, name in names(text) if bad & {*words_of_name(name)}]
    return sorted(places)


@pytest.mark.parametrize("name", FILES)
def test_words_are_the_fields(name: str) -> None:
    allowed = frozenset[str]().union(*(words for place, words in TERMS.items() if name.startswith(place)))
    assert found(FILES[name].read_text("utf-8"), allowed) == []


def test_it_finds_them_in_docstrings_comments_and_names() -> None:
    code = ("def tell(story: str) -> None:", '    """`told` stays."""', "    heard = story  # dear")
    text = "\n".join(('"""Everybody\'s diary."""', *code)) + "\n"
    assert found(text) == [(1, "diary"), (1, "everybody"), (2, "story"), (2, "tell"), (4, "dear")]


@pytest.mark.parametrize("place", NOT_YET)
def test_what_is_not_done_yet_exists_and_needs_it(place: str) -> None:
    files = [path for name, path in ALL.items() if name.startswith(place)]
    assert any(found(path.read_text("utf-8")) for path in files), f"{place} is done: take it from the list"
