"""Escaping of cells in CSV files that people open in a spreadsheet."""

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def cell(text: str) -> str:
    """Return the text quoted so that no spreadsheet reads it as a formula, also after leading blanks."""
    return f"'{text}" if text.lstrip()[:1] in FORMULA or text[:1] in ("\t", "\r", "\n") else text
