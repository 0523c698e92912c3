"""The ledger holds every row, complete, and refuses one that is not."""

from pathlib import Path

import pytest

from queueviz.fidelity.ledger import CLAIMS, ROWS_OF, Ledger, LedgerBroken, ledger, load, place_of, read

ROW = """
[[claim]]
row = "0.1"
claim = "An offset is an index."
claim_zh = "offset 是下标。"
rocketmq = "It starts at 0."
rocketmq_zh = "从 0 开始。"
source = "CommitLog"
"""


def written(folder: Path, text: str, name: str = "rows.toml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_every_row_of_the_articles_is_there() -> None:
    counts = {section: len(ledger().section(section)) for section in ROWS_OF}
    assert counts == {"0": 42, "1": 34, "2": 13, "3": 45, "4": 38, "D": 49}
    assert list(ledger()) == sorted(ledger(), key=place_of)


def test_each_difference_belongs_to_a_claim() -> None:
    assert [claim.row for claim in ledger().section("D") if not ledger().concerned(claim.row)] == []


def test_a_difference_s_claim_is_of_its_article() -> None:
    for claim in ledger().section("D"):
        assert str(claim.article) in {row[0] for row in ledger().concerned(claim.row)}, claim.row


def test_chinese_texts_are_chinese() -> None:
    for claim in ledger().values():
        for text in (claim.claim_zh, claim.rocketmq_zh):
            assert any("\u4e00" <= letter <= "\u9fff" for letter in text), claim.row


def test_the_engine_s_numbers_are_those_of_the_ledger() -> None:
    """A few that are easy to get wrong, so that the words cannot drift from the code."""
    assert "5 s" in ledger()["D2"].code_value
    assert "4 096" in ledger()["D1"].code_value
    assert "72 h" in ledger()["D3"].code_value


def test_a_row_may_leave_out_what_is_the_same(tmp_path: Path) -> None:
    (claim,) = read(written(tmp_path, ROW))
    assert (claim.ours, claim.ours_zh, claim.differs, claim.where) == ("the same", "相同", (), ())


def test_values_without_words_are_the_same_in_both_languages(tmp_path: Path) -> None:
    values = 'seed_value = "10 s"\ncode_value = "every 5 s"\ncode_value_zh = "每 5 秒"\n'
    (claim,) = read(written(tmp_path, ROW + values))
    assert (claim.said("seed_value", "zh-hans"), claim.said("code_value", "zh-hans")) == ("10 s", "每 5 秒")
    assert claim.said("code_value", "en") == "every 5 s"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('row = "0.1"', 'row = "5.1"'), "'5.1' is no row id"),
        (('row = "0.1"', 'row = "0.01"'), "'0.01' is no row id"),
        (('row = "0.1"', ""), "None is no row id"),
        (("source =", "sauce ="), "row 0.1: got an unexpected keyword argument 'sauce'"),
        (('source = "CommitLog"', ""), "row 0.1: missing 1 required positional argument: 'source'"),
        (('"It starts at 0."', '" "'), "row 0.1: rocketmq is empty"),
        (('"It starts at 0."', "7"), "row 0.1: rocketmq is empty"),
        (('"It starts at 0."', '"' + "long " * 60 + '"'), "row 0.1: rocketmq has 300 characters"),
        (("source", 'where = ["kitchen"]\nsource'), "row 0.1: where names kitchen, which is no page"),
        (("source", 'seed_value = "10 s"\nsource'), "row 0.1: seed_value and code_value stand together"),
        (("source", 'ours = "half of it"\nsource'), "row 0.1: ours is said in one language only"),
        (("source", "article = 3\nsource"), "row 0.1: only a difference names its article"),
        (('row = "0.1"', 'row = "D1"'), "row D1: a difference has both values and its article"),
        (("[[claim]]", "[[claims]]"), r"only \[\[claim\]\] is known, not claims"),
        (("[[claim]]", "[[claim]"), "rows.toml: "),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_broken_row_is_refused_with_its_place(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(LedgerBroken, match=said):
        read(written(tmp_path, ROW.replace(*change)))


def test_a_row_that_is_missing_or_there_twice_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerBroken, match=r"row 0\.2 is missing"):
        load(written(tmp_path, ROW).parent)
    written(tmp_path, ROW, "again.toml")
    with pytest.raises(LedgerBroken, match=r"row 0\.1 exists twice"):
        load(tmp_path)


def test_a_row_too_many_or_an_unknown_difference_is_named(tmp_path: Path) -> None:
    for path in CLAIMS.glob("*.toml"):
        written(tmp_path, path.read_text("utf-8"), path.name)
    assert isinstance(load(tmp_path), Ledger)
    written(tmp_path, ROW.replace("0.1", "0.43"), "more.toml")
    with pytest.raises(LedgerBroken, match=r"row 0\.43 is none of the articles'"):
        load(tmp_path)
    (tmp_path / "more.toml").unlink()
    first = (tmp_path / "0_offsets.toml").read_text("utf-8")
    written(tmp_path, first.replace('differs = ["D5"]', 'differs = ["0.3"]'), "0_offsets.toml")
    with pytest.raises(LedgerBroken, match=r"row 0\.2 names the difference 0\.3, which there is not"):
        load(tmp_path)
