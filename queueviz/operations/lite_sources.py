"""The sources of Lite's archives: which modules of Python, Django and the pages a browser needs, and which files."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import django

from queueviz.lite.configuration import LIBRARIES
from queueviz.operations.module_graph import IMPORT
from queueviz.translations import compile_translations
from sandbox.lite.bundle import modules_of

ROOTS = ("sandbox.lite.entry", "queueviz.lite.site", "queueviz.lite.tags")
NOT_NEEDED = """
    _pyio _pyrepl antigravity bdb cProfile cmd code compileall ctypes curses dbm doctest ensurepip filecmp
    fileinput ftplib getpass graphlib idlelib imaplib lib2to3 mailbox modulefinder multiprocessing netrc
    nturl2path optparse pdb pickletools plistlib poplib profile pstats pyclbr pydoc pydoc_data rlcompleter sched
    shelve site-packages smtplib sqlite3 symtable tabnanny this tkinter trace turtle unittest venv wave
    webbrowser wsgiref xml xmlrpc zipapp _aix_support _android_support _apple_support _ios_support _osx_support
    _pydecimal
"""
"""Top-level names of the standard library that neither the engine nor the pages import."""

ENCODINGS = "__init__ aliases ascii cp437 idna latin_1 punycode raw_unicode_escape unicode_escape utf_8"
DJANGO_LOCALES = ("en", "zh_Hans")


class Source(NamedTuple):
    """A file, and its name in an archive."""

    path: Path
    name: str


def stdlib_sources(folder: Path) -> list[Source]:
    """Return the needed files of Python's standard library."""
    found = (Source(path, path.relative_to(folder).as_posix()) for path in sorted(folder.rglob("*")) if path.is_file())
    return [source for source in found if _is_needed(source.name)]


def _is_needed(name: str) -> bool:
    top, _, rest = name.partition("/")
    if top == "encodings":
        return rest.removesuffix(".py") in ENCODINGS.split()
    return top.removesuffix(".py") not in NOT_NEEDED.split()


def engine_sources(site: Path) -> list[Source]:
    """Return the modules of `sandbox` that the worker and its pages need."""
    return [Source(path, name) for path, name in _own(site) if name.startswith("sandbox/")]


def page_sources(site: Path) -> list[Source]:
    """Return the modules that draw pages, ours and those of packages."""
    sources = [source for source in _own(site) if not source.name.startswith("sandbox/")]
    above = Path(django.__file__).parents[1]
    sources += [Source(path, path.relative_to(above).as_posix()) for path in _loaded_of_packages(site)]
    return [Source(path, f"app/{name}") for path, name in sources]


def _own(site: Path) -> list[Source]:
    libraries = [name for name in LIBRARIES.values() if name.startswith("queueviz.")]
    modules = modules_of([*ROOTS, *libraries], {"sandbox", "queueviz"})
    return [Source(path, path.relative_to(site).as_posix()) for path in modules.values()]


def _loaded_of_packages(site: Path) -> Iterator[Path]:
    """Yield the modules of Django and its packages that a process of Lite loads until it has drawn its pages."""
    command = [sys.executable, "-m", "queueviz.lite.rehearsal"]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True, check=True)
    yield from sorted(Path(line) for line in done.stdout.splitlines())


def data_files(site: Path, scratch: Path) -> Iterator[Source]:
    """Yield what the pages read: templates, translations, claims, and which modules a script imports.

    `scratch`: a folder for files that this writes.
    """
    compile_translations()
    templates = (path for path in (site / "templates" / "queueviz").rglob("*.html") if path.parent.name != "pages")
    claims = (site / "queueviz" / "fidelity" / "claims").glob("*.toml")
    translations = (site / "queueviz" / "locale").rglob("*.mo")
    for path in (*templates, *claims, *translations, site / "static" / "vendor" / "VENDOR.json"):
        yield Source(path, f"app/{path.relative_to(site).as_posix()}")
    for path in (site / "static" / "queueviz" / "js").glob("*.js"):
        imports = scratch / path.name
        imports.write_text("\n".join(found[0] for found in IMPORT.finditer(path.read_text("utf-8"))))
        yield Source(imports, f"app/{path.relative_to(site).as_posix()}")
    root = Path(django.__file__).parent
    for locale in DJANGO_LOCALES:
        path = root / "conf" / "locale" / locale / "LC_MESSAGES" / "django.mo"
        yield Source(path, f"app/{path.relative_to(root.parent).as_posix()}")
