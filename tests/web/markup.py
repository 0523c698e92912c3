"""Text of a page, independent of its template's lines."""

import re


def compact(page: str) -> str:
    """Without the line breaks beside tags: a template has one element a line."""
    return re.sub(r"(?<=>)\s*\n\s*|\s*\n\s*(?=<)", "", page)
