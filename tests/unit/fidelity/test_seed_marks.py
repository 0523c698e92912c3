"""Marks are read from the source wherever pytest would see them; elsewhere they are refused, not missed."""

from pathlib import Path

import pytest

from queueviz.fidelity.marks import Mark, MarkUnread, by_row, scan

HEAD = "import pytest\n"


def scanned(folder: Path, text: str) -> list[tuple[str, str]]:
    tests = folder / "tests"
    tests.mkdir(exist_ok=True)
    (tests / "test_some.py").write_text(HEAD + text)
    return [(row, test.removeprefix("tests/test_some.py::")) for row, test in scan(tests, folder)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('@pytest.mark.seed("0.27", "D6")\ndef test_a(): ...\n', [("0.27", "test_a"), ("D6", "test_a")]),
        ('@pytest.mark.seed("0.1")\nasync def test_a(): ...\n', [("0.1", "test_a")]),
        (
            '@pytest.mark.seed("0.1")\n@pytest.mark.seed("0.2")\ndef test_a(): ...\n',
            [("0.1", "test_a"), ("0.2", "test_a")],
        ),
        (
            'pytestmark = pytest.mark.seed("0.1")\ndef test_a(): ...\ndef test_b(): ...\n',
            [("0.1", "test_a"), ("0.1", "test_b")],
        ),
        ('pytestmark = [pytest.mark.slow, pytest.mark.seed("0.1")]\ndef test_a(): ...\n', [("0.1", "test_a")]),
        (
            '@pytest.mark.seed("0.1")\nclass TestIt:\n    @pytest.mark.seed("0.2")\n    def test_a(self): ...\n',
            [("0.1", "TestIt::test_a"), ("0.2", "TestIt::test_a")],
        ),
        (
            '@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.seed("0.1")), 2])\ndef test_a(x): ...\n',
            [("0.1", "test_a")],
        ),
        ('SHOWS = pytest.mark.seed("0.1")\n@SHOWS\ndef test_a(): ...\n', [("0.1", "test_a")]),
        ("def test_a(): ...\n# seed\n", []),
    ],
    ids=["two rows", "async", "two marks", "module", "list", "class", "parameter", "constant", "none"],
)
def test_a_mark_is_found_where_pytest_finds_it(tmp_path: Path, text: str, found: list[tuple[str, str]]) -> None:
    assert scanned(tmp_path, text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@pytest.mark.seed()\ndef test_a(): ...\n", "name the rows"),
        ('@pytest.mark.seed(row="0.1")\ndef test_a(): ...\n', "name the rows"),
        ('@pytest.mark.seed("0." + "1")\ndef test_a(): ...\n', "plain texts"),
        ('def marked():\n    return pytest.mark.seed("0.1")\n@marked()\ndef test_a(): ...\n', "belongs to no test"),
        ('@pytest.mark.seed("0.1")\ndef helper(): ...\n', "belongs to no test"),
    ],
    ids=["empty", "keyword", "computed", "made elsewhere", "no test"],
)
def test_a_mark_that_would_be_missed_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(MarkUnread, match=rf"tests/test_some\.py:\d+: .*{said}"):
        scanned(tmp_path, text)


def test_tests_are_listed_once_under_each_row() -> None:
    assert by_row([Mark("0.1", "a"), Mark("0.1", "a"), Mark("0.1", "b"), Mark("D1", "a")]) == {
        "0.1": ["a", "b"],
        "D1": ["a"],
    }
