"""Sentences that depend on a number, for pages that fill them in the browser.

Both our languages need at most two forms: for one, and for any other number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Counted(NamedTuple):
    """`form(n)` is an `ngettext`; `by` names the field of the event that counts (a list counts its items)."""

    form: Callable[[int], str]
    by: str = "n"


def forms(text: Any) -> str | list[str]:
    """As JSON carries it: one text, or the two forms."""
    return [text.form(1), text.form(2)] if isinstance(text, Counted) else str(text)
