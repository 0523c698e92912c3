"""Texts of the engine and the site exist in both languages, with the same placeholders.

Sentences are read from the source: whatever is handed to a refusal, also through a function that only passes it on,
and through a constant.  A sentence put together in another way cannot be translated, and is found here too.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from django.utils.translation.template import templatize

from sandbox.control.actions import BY_NAME
from sandbox.findings.all_rules import RULES
from sandbox.findings.figures import BESIDE, COLUMNS
from sandbox.journal.events import SAID
from sandbox.kernel.sentences import forms_of
from sandbox.queries.rows.followed import SENTENCES as FOLLOWED
from tests.house.conftest import NeededForRelease

ROOT = Path(__file__).parents[2]
CATALOGUE = ROOT / "queueviz" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
FLOORS = (
    "sandbox/control",
    "sandbox/kernel",
    "sandbox/client",
    "sandbox/broker",
    "sandbox/store",
    "sandbox/journal",
    "sandbox/labs",
    "sandbox/cluster",
    "sandbox/queries",
    "sandbox/commands",
    "sandbox/attached",
    "sandbox/hosting",
    "sandbox/simulation",
    "sandbox/tools",
    "sandbox/notebook",
    "queueviz",
)
SAYING = {  # what raises or is a refusal -> which arguments people read
    "ActionRefused": {1: "message", 2: "hint"},
    "TooManyOwned": {1: "message", 2: "hint"},
    "Refusal": {0: "message", 1: "hint"},
    "EngineBusy": {0: "message"},
    "Forbidden": {0: "message"},
    "NotFound": {0: "message"},
    "Notice": {0: "message"},
}
GETTEXT = {"gettext": 1, "gettext_lazy": 1, "_": 1, "ngettext": 2}
MARKED = re.compile(r"(?<!\w)(?:_|(n?)(p?)gettext)\(")  # as Django hands a template to xgettext
LITERAL = re.compile(r"""\s*,?\s*u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
VALUE = re.compile(r"\{\w*\}|%\(\w+\)s")

SKIPPED = {
    "{problem}": "the form says it, in the reader's language already",
}
PASSED_ON = {  # arguments that are read where they are made
    "plan.refused": "a Refusal, read where it is made",
    "refusal.message": "of a Refusal, read where it is made",
    "refusal.hint": "of a Refusal, read where it is made",
    "slot.state if slot.state in ('failed', 'waking') else 'asleep'": "a code of the live protocol, no sentence",
}
CODES = {"unknown", "failed", "asleep"}  # live protocol: control.readings.Refusal has a reason, no sentence

WORDS = {  # that stand in sentences as values: refusals.SPOKEN
    "starting",
    "running",
    "hung",
    "stopping",
    "stopped",
    "crashed",
    "refused",
    "removed",  # of an actor
    "asleep",
    "waking",
    "failed",  # of a sandbox
    "a number",
    "a whole number",
    "consumer",
    "producer",
    "no space left on device",
    "read-only file system",
    "disk quota exceeded",
    "input/output error",
    "permission denied",
    "too many open files",
    "file too large",
    "The specified topic is blank.",
    "The specified topic is longer than topic max length.",
    "It contains illegal characters: letters, digits and the signs - _ % | are allowed.",
}


class Text(NamedTuple):
    place: str
    text: str


def entries() -> dict[str, tuple[str, bool]]:
    """English → Chinese, and whether the entry is marked fuzzy."""
    found: dict[str, tuple[str, bool]] = {}
    for block in CATALOGUE.read_text("utf-8").split("\n\n"):
        parts: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if line.startswith(("msgid", "msgstr")):
                name, _, line = line.partition(" ")
            if name and line.startswith('"'):
                parts[name] = parts.get(name, "") + ast.literal_eval(line)
        chinese = parts.get("msgstr", parts.get("msgstr[0]", ""))
        for key in ("msgid", "msgid_plural"):
            if key in parts:
                found[parts[key]] = chinese, re.search(r"^#,.*fuzzy", block, re.M) is not None
    return found


class Module:
    """One file: its constants, and its functions that pass a text on to a refusal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = ast.parse((ROOT / path).read_text("utf-8"))
        self.constants = {
            target.id: node.value
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.texts: list[Text] = []
        self.unread: list[Text] = []
        helpers = [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]
        inside = {id(call): helper for helper in helpers for call in ast.walk(helper) if isinstance(call, ast.Call)}
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        for call in calls:
            for argument in _read_by_people(call):
                self._read(call, argument, inside.get(id(call)), calls)

    def _read(self, call: ast.Call, argument: ast.expr, helper: ast.FunctionDef | None, calls: list[ast.Call]) -> None:
        passed = [] if helper is None else [name.arg for name in helper.args.args if name.arg in _names(argument)]
        if not passed or helper is None:
            return self._keep(call, argument, {})
        at = [name.arg for name in helper.args.args].index(passed[0])
        for other in calls:
            if _name(other) == helper.name and len(other.args) > at:
                self._keep(other, argument, {passed[0]: other.args[at]})
        return None

    def _keep(self, call: ast.Call, argument: ast.expr, given: dict[str, ast.expr]) -> None:
        place = f"{self.path}:{call.lineno}"
        if ast.unparse(argument) in PASSED_ON:
            return
        found = list(self._texts(argument, given))
        self.texts += [Text(place, text) for text in found if text]
        if not found:
            self.unread.append(Text(place, ast.unparse(argument)))

    def _texts(self, argument: ast.expr, given: dict[str, ast.expr]) -> Iterator[str]:
        match argument:
            case ast.Constant(value=str(text)):
                yield text
            case ast.Name(id=name) if name in given:
                yield from self._texts(given[name], {})
            case ast.Name(id=name) if name in self.constants:
                yield from self._texts(self.constants[name], {})
            case ast.IfExp(body=one, orelse=other):
                yield from self._texts(one, given)
                yield from self._texts(other, given)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                ends = list(self._texts(right, given))
                yield from (begin + end for begin in self._texts(left, given) for end in ends)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get")) if name in self.constants:
                yield from self._texts(self.constants[name], {})
            case ast.Dict(values=values):
                for value in values:
                    yield from self._texts(value, {})


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _names(argument: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(argument) if isinstance(node, ast.Name)}


def _read_by_people(call: ast.Call) -> list[ast.expr]:
    name = _name(call)
    if name == "Refusal" and call.args and ast.unparse(call.args[0]).strip("'") in CODES:
        return []
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    found = [call.args[at] if len(call.args) > at else named.get(word) for at, word in SAYING.get(name, {}).items()]
    return [argument for argument in found if argument is not None]


def modules() -> list[Module]:
    return [Module(path.relative_to(ROOT)) for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]


def marked(template: str) -> Iterator[str]:
    """The texts of `translate` and `blocktranslate`, one and many; not their contexts."""
    source = templatize(template)
    for call in MARKED.finditer(source):
        at, texts = call.end(), []
        while found := LITERAL.match(source, at):
            at = found.end()
            texts.append(ast.literal_eval(found[1]))
        yield from texts[1 if call[2] else 0 :]


@pytest.fixture(scope="module")
def read() -> list[Module]:
    return modules()


@pytest.fixture(scope="module")
def chinese() -> dict[str, tuple[str, bool]]:
    return entries()


class Catalogue:
    """The Chinese texts, and what a release needs of them."""

    def __init__(self, chinese: dict[str, tuple[str, bool]], needed_for_release: NeededForRelease) -> None:
        self._chinese, self._needed_for_release = chinese, needed_for_release

    def check(self, texts: list[Text]) -> None:
        """A text may wait for its Chinese until a release; values that got lost would be lost to the reader at once."""
        assert altered(texts, self._chinese) == []
        self._needed_for_release(untranslated(texts, self._chinese), f"add the Chinese texts to {CATALOGUE.name}")


@pytest.fixture
def catalogue(chinese: dict[str, tuple[str, bool]], needed_for_release: NeededForRelease) -> Catalogue:
    return Catalogue(chinese, needed_for_release)


def untranslated(texts: list[Text], chinese: dict[str, tuple[str, bool]]) -> list[str]:
    found = []
    for place, text in texts:
        translation, is_fuzzy = chinese.get(text, ("", False))
        if text not in SKIPPED and (not translation or is_fuzzy):
            found.append(f"{place}: {text!r} has no Chinese text")
    return found


def altered(texts: list[Text], chinese: dict[str, tuple[str, bool]]) -> list[str]:
    found = []
    for place, text in texts:
        translation, _ = chinese.get(text, ("", False))
        if translation and set(VALUE.findall(translation)) != set(VALUE.findall(text)):
            found.append(f"{place}: {text!r} has other values than {translation!r}")
    return found


def test_every_refusal_is_written_so_that_it_can_be_translated(read: list[Module]) -> None:
    assert [unread for module in read for unread in module.unread] == []


def test_every_refusal_has_a_chinese_text(read: list[Module], catalogue: Catalogue) -> None:
    texts = [text for module in read for text in module.texts]
    assert len({text for _, text in texts}) > 200, "the sentences are no longer found where they were"
    catalogue.check(texts)


def test_a_text_without_chinese_or_with_other_values_is_reported(chinese: dict[str, tuple[str, bool]]) -> None:
    texts = [Text("x.py:1", "Not translated at all"), Text("x.py:2", "{a} of {b}")]
    known = {**chinese, "{a} of {b}": ("{a}", False)}
    assert untranslated(texts, known) == ["x.py:1: 'Not translated at all' has no Chinese text"]
    assert altered(texts, known) == ["x.py:2: '{a} of {b}' has other values than '{a}'"]


def test_what_is_skipped_is_still_said(read: list[Module]) -> None:
    assert set(SKIPPED) <= {text for module in read for _, text in module.texts}


def test_every_text_the_site_marks_has_a_chinese_text(catalogue: Catalogue) -> None:
    texts = []
    for path in sorted([*(ROOT / "queueviz").rglob("*.py"), *(ROOT / "sandbox" / "labs").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                texts += [
                    Text(f"{path.name}:{node.lineno}", argument.value)
                    for argument in node.args[: GETTEXT.get(_name(node), 0)]
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                ]
    for path in sorted((ROOT / "templates").rglob("*.html")):
        texts += [Text(path.name, text) for text in marked(path.read_text("utf-8"))]
    for name, kind in BY_NAME.items():
        for said in kind.sentences().values():
            texts += [Text(name, text) for text in forms_of(said)]
    for name, fact in SAID.items():
        texts += [Text(name, text) for text in (fact.word, *forms_of(fact.text))]
    assert len(texts) > 1700
    catalogue.check(texts)


def test_every_text_of_a_finding_has_a_chinese_text(catalogue: Catalogue) -> None:
    texts = [Text(rule.code, text) for rule in RULES for text in (rule.title, rule.healthy)]
    for rule in RULES:
        texts += [Text(rule.code, form) for sentence in rule.sentences.values() for form in forms_of(sentence)]
    texts += [Text(name, form) for name, sentence in FOLLOWED.items() for form in forms_of(sentence)]
    texts += [Text("figures.py", title) for title in (*COLUMNS.values(), *BESIDE.values())]
    assert len(texts) > 180, "the sentences of the rules are no longer read"
    catalogue.check(texts)


def test_words_within_sentences_have_chinese_words(read: list[Module], catalogue: Catalogue) -> None:
    words = WORDS | {"The data home accepts no more data: {why}."}
    for module in read:
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call):
                continue
            if ast.unparse(node.func).endswith("limit_guard.check") and isinstance(node.args[0], ast.Constant):
                words.add(str(node.args[0].value).replace("_", " "))
            if _name(node) == "Rate":
                words |= {
                    str(keyword.value.value)
                    for keyword in node.keywords
                    if keyword.arg == "what" and isinstance(keyword.value, ast.Constant)
                }
    assert "button presses" in words
    assert "messages per send" in words
    catalogue.check([Text("a word", word) for word in sorted(words)])
