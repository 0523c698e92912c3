"""Lists of docs/spec that are written by hand name what the code has, and nothing else."""

import re
from dataclasses import fields
from pathlib import Path

from sandbox.client import start_offset
from sandbox.cluster.presets import PRESETS, Preset
from sandbox.cluster.templates import TEMPLATES
from sandbox.control.channel_names import KINDS
from sandbox.control.rights import VERBS, can
from sandbox.remoting.codes import RequestCode, ResponseCode

SPEC = Path(__file__).parents[2] / "docs" / "spec"


def section(page: str, number: str) -> str:
    """The text under one heading, up to the next one of any level."""
    text = (SPEC / f"{page}.md").read_text("utf-8")
    return re.split(r"^#+ ", text.split(f"# {number} ", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(page: str, number: str) -> list[list[str]]:
    """Cells of the tables there, without the lines under their heads."""
    lines = [line for line in section(page, number).splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def first_names(page: str, number: str) -> set[str]:
    """Return the code spans of the first cells."""
    return {name for row in rows(page, number) for name in re.findall(r"`([^`]+)`", row[0])}


def test_templates_and_presets_are_those_of_the_code() -> None:
    assert first_names("catalogue", "4.") == set(TEMPLATES)
    keys = {
        key
        for row in rows("catalogue", "5.")[1:]
        for key in re.findall(r"\b[a-z]+(?:_[a-z]+)*\b", row[0].partition("(")[0])
    }
    assert keys == {field.name for field in fields(Preset)}
    assert {name.strip("`") for cell in rows("catalogue", "5.")[0][1:] for name in cell.split()[:1]} == set(PRESETS)


def test_rights_are_those_of_the_code() -> None:
    (_, *roles), *verbs = rows("catalogue", "3.")
    named = {
        (role, verb)
        for said, *cells in verbs
        for role, cell in zip(roles, cells, strict=True)
        if cell == "yes"
        for verb in said.split(", ")
    }
    assert named == {(role, verb) for role in roles for verb in VERBS if can(role, verb)}  # type: ignore[arg-type]


def test_channels_are_those_of_the_code() -> None:
    assert {name.partition("/")[0] for name in first_names("catalogue", "10.")} == set(KINDS)


def test_codes_of_a_start_offset_are_those_of_the_code() -> None:
    ours = {
        start_offset.LAST,
        start_offset.ZERO,
        start_offset.BY_TIME,
        start_offset.RETRY_ZERO,
        start_offset.RETRY_LAST,
    }
    assert first_names("catalogue", "2.") == ours | {"stored", "zero_in_memory", "not_found", "store_error"}


def test_every_code_of_the_wire_is_named() -> None:
    answers = {cell.removesuffix(" (5.3)") for row in rows("remoting", "2.1") for cell in row if cell}
    assert answers == {f"{code.value} {code.name}" for code in ResponseCode}
    requests = " ".join(section("remoting", number) for number in ("2.2", "2.3", "2.5"))
    assert [code.name for code in RequestCode if not re.search(rf"\b{code.value}\b", requests)] == []
