"""A loader of labs by name: those of the catalogue, and Python files of the user.

A file is executed.  Only `manage.py lab` does that, for a user at this machine's terminal.  The server loads none.
"""

import re
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from traceback import extract_tb

from sandbox.cluster.presets import preset_of
from sandbox.cluster.templates import template_of
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.labs.catalogue import LABS, named
from sandbox.labs.lab import Lab

SUFFIX = ".py"
LACKS = re.compile(r"(\w+)\.__(?:init|new)__\(\) missing \d+ required [\w-]+ arguments?: (.*)")
REPEAT = "Correct it, and check again."
FILES: dict[str, Path] = {}  # slug → where it was loaded from, in this process


class LabFileError(SandboxError):
    """The error for a file that is no lab; the sentence says where, and what to do."""


def lab_of(name: str) -> Lab | None:
    """Return the lab with this slug, number or file path; None: unknown.  Raises LabFileError.

    A lab from a file is then in `LABS` of this process.
    """
    return load(Path(name)) if name.endswith(SUFFIX) else named(name)


def load(path: Path) -> Lab:
    """Execute a lab's file and return its lab, which is then in `LABS`.  Raises LabFileError."""
    try:
        source = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        text = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise LabFileError(f"{path} cannot be read: {text}. Give the path of a lab's file.") from error
    lab = getattr(_executed(path, source), "LAB", None)
    if not isinstance(lab, Lab):
        raise LabFileError(f"{path} has no lab. Name it so: LAB = Lab(...).")
    _check(path, lab)
    LABS[lab.slug] = lab
    FILES[lab.slug] = path
    return lab


def _executed(path: Path, source: str) -> object:
    spec = spec_from_loader(f"lab_file_{path.stem}", loader=None, origin=str(path))
    assert spec is not None
    module = module_from_spec(spec)
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        raise LabFileError(f"{path}, line {error.lineno}: this is not Python ({error.msg}). {REPEAT}") from error
    except (Exception, SystemExit) as error:
        raise LabFileError(f"{path}, line {line_in(path, error)}: {_said(error)} {REPEAT}") from error
    return module


def line_in(path: Path, error: BaseException) -> int:
    """Return the last line of the file in the error's traceback; 0 if there is none."""
    return next(
        (frame.lineno or 0 for frame in reversed(extract_tb(error.__traceback__)) if frame.filename == str(path)), 0
    )


def _said(error: BaseException) -> str:
    lacks = LACKS.match(str(error))
    if lacks is None:
        return f"{type(error).__name__}, {str(error).rstrip('.')}."
    kind, names = lacks.groups()
    return f"{kind} lacks {names.replace(chr(39), '')}. docs/labs.md says what it is for."


def _check(path: Path, lab: Lab) -> None:
    others = [other for slug, other in LABS.items() if FILES.get(slug, Path()).resolve() != path.resolve()]
    for other in others:
        if lab.slug == other.slug or lab.number.lower() == other.number.lower():
            raise LabFileError(
                f"{path}: there is a lab {other.number}, {other.slug}, already. Choose another slug and another number."
            )
    for number, step in enumerate(lab.steps, start=1):
        if not callable(step.check):
            raise LabFileError(f"{path}: step {number} has no check. Give it a function from Evidence to Verdict.")
    try:
        template_of(lab.template)
        preset_of(lab.preset, lab.changes)
    except ActionRefused as error:
        raise LabFileError(f"{path}: {error} {error.hint}") from error
