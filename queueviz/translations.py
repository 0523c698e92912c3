"""Compilation of translations: a `django.mo` beside each `django.po`, if missing or older.  They are not committed."""

import os
from pathlib import Path

LOCALES = Path(__file__).with_name("locale")


def compile_translations(locales: Path = LOCALES) -> list[Path]:
    """Compile each `django.po` whose `django.mo` is missing or older, and return the files written.

    A text without a translation is left out, so that its English is shown.  Raises OSError if the folder is not
    writable.
    """
    written = []
    for source in sorted(locales.glob("*/LC_MESSAGES/*.po")):
        compiled = source.with_suffix(".mo")
        if not compiled.exists() or compiled.stat().st_mtime_ns < source.stat().st_mtime_ns:
            _compile(source, compiled)
            written.append(compiled)
    return written


def _compile(source: Path, compiled: Path) -> None:
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with source.open("rb") as lines:
        catalogue = read_po(lines, abort_invalid=True)
    unfinished = compiled.with_name(f"{compiled.name}.{os.getpid()}")  # several processes may begin at once
    with unfinished.open("wb") as file:
        write_mo(file, catalogue)
    unfinished.replace(compiled)
