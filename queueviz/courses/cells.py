"""Cells of CSV files that people open in a spreadsheet."""

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def cell(text: str) -> str:
    """As text: a spreadsheet would take some beginnings for a formula, also behind blanks."""
    return f"'{text}" if text.lstrip()[:1] in FORMULA or text[:1] in ("\t", "\r", "\n") else text
