"""The sources of Lite's archives: which modules of Python, Django and the pages a browser needs, and which files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from queueviz.lite.configuration import LIBRARIES
from queueviz.translations import compile_translations
from sandbox.lite.bundle import modules_of

ROOTS = (
    "sandbox.lite.entry",
    "sandbox.lite.class_run",
    "sandbox.lite.recorder",
    "queueviz.lite.site",
    "queueviz.lite.tags",
)
NOT_NEEDED = """
    _pyio _pyrepl antigravity bdb cProfile cmd code compileall ctypes curses dbm doctest ensurepip filecmp
    fileinput ftplib getpass graphlib idlelib imaplib lib2to3 mailbox modulefinder multiprocessing netrc
    nturl2path optparse pdb pickletools plistlib poplib profile pstats pyclbr pydoc pydoc_data rlcompleter sched
    shelve site-packages smtplib sqlite3 symtable tabnanny this tkinter trace turtle unittest venv wave
    webbrowser wsgiref xml xmlrpc zipapp _aix_support _android_support _apple_support _ios_support _osx_support
    _pydecimal
"""
"""Top-level names of the standard library that neither the engine nor the pages import."""

ENCODINGS = "__init__ aliases ascii cp437 idna latin_1 punycode raw_unicode_escape unicode_escape"


class Source(NamedTuple):
    """A file, and its name in an archive."""

    path: Path
    name: str


def stdlib_sources(folder: Path) -> list[Source]:
    """Return the needed files of Python's standard library."""
    files = (Source(path, path.relative_to(folder).as_posix()) for path in sorted(folder.rglob("*")) if path.is_file())
    return [source for source in files if _is_needed(source.name)]


def _is_needed(name: str) -> bool:
    top, _, rest = name.partition("/")
    if top == "encodings":
        return rest.startswith("utf_") or rest.removesuffix(".py") in ENCODINGS.split()
    return top.removesuffix(".py") not in NOT_NEEDED.split()


def engine_sources(site: Path) -> list[Source]:
    """Return the modules of `sandbox` that the worker and its pages need."""
    libraries = [name for name in LIBRARIES.values() if name.startswith("queueviz.")]
    modules = modules_of([*ROOTS, *libraries], {"sandbox", "queueviz"})
    return [
        Source(path, path.relative_to(site).as_posix()) for name, path in modules.items() if name.startswith("sandbox")
    ]


def page_sources(site: Path, scratch: Path) -> list[Source]:
    """Return the modules, templates and data of the pages, listed by `queueviz.lite.contents` in a process of its own.

    `scratch`: a folder for files that are written for the archive.
    """
    compile_translations()
    command = [sys.executable, "-m", "queueviz.lite.contents"]
    listed = json.loads(subprocess.run(command, cwd=site, capture_output=True, text=True, check=True).stdout)
    for number, text in enumerate(listed["written"].values()):
        (scratch / str(number)).write_text(text, "utf-8")
    written = (Source(scratch / str(number), name) for number, name in enumerate(listed["written"]))
    files = (Source(Path(path), name) for name, path in listed["files"].items())
    return [Source(path, f"app/{name}") for path, name in (*files, *written)]
