"""The code blocks of the pages about the pipeline, as they are written."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.server.server import ROOT

DOCS = ROOT / "docs"
PAGES = ["flights.md", "pipeline.md", *sorted(path.name for path in DOCS.glob("pipeline-*.md"))]
BLOCK = re.compile(r"^```(\w*)\n((?s:.*?))^```$|(?<=\n\n)((?: {4}.*\n)+)", re.MULTILINE)
COMMAND = ".venv/bin/python manage.py "


class Block(NamedTuple):
    """A code block.  `language`: sh, python, sql, or empty for output and settings."""

    page: str
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def needs_spark(self) -> bool:
        """True for a program with a Spark session; others use only the files of a result."""
        return self.language in ("python", "sql") and not self.text.startswith(("import pandas", "from pyiceberg"))

    @property
    def commands(self) -> list[str]:
        """The lines of a shell block; one that ends with a backslash continues."""
        return self.text.replace("\\\n", " ").splitlines() if self.language == "sh" else []


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text = (DOCS / page).read_text("utf-8")
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            if match[3] is None:
                yield Block(page, line, match[1], match[2])
            else:
                code = re.sub("^ {4}", "", match[3], flags=re.MULTILINE)
                yield Block(page, line, language_of(code), code)


def language_of(code: str) -> str:
    """Return the language of an indented block: that of a command, of Python, or none."""
    if code.startswith((COMMAND, "spark=")):
        return "sh"
    try:
        compile(code, "block", "exec")
    except SyntaxError:
        return ""
    return "python"
