"""`manage.py recording export|import|check`: write, read and check recordings as files (docs/recording.md)."""

import argparse
import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Any, TypedDict, cast

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.utils import translation

from queueviz import __version__
from queueviz.links.offline_page import offline_page
from queueviz.links.share_links import notes_of
from sandbox.cluster.templates import TEMPLATES
from sandbox.control.limits import HostLimits
from sandbox.journal.event_filter import without_score
from sandbox.journal.schema import Row
from sandbox.kernel.errors import ActionRefused, BadRecording, CorruptRecord
from sandbox.recording import folder, journal_range
from sandbox.recording.frame import PACE_MS, About, Frame, in_range
from sandbox.recording.reader import Recording
from sandbox.recording.writer import write_recording
from sandbox.simulation.recorded import recorded_frames
from sandbox.simulation.recorded_run import RecordedRun
from sandbox.simulation.world import World

END = 2**53
NICENESS = 10  # of a process beside the server


class ExportOptions(TypedDict):
    """The options of `export`, by their names."""

    directory: Path | None
    play: str | None
    seed: str
    minutes: float
    pace_ms: int
    beside: bool
    without_scores: bool
    first: int
    last: int


class PageOptions(TypedDict):
    """The options of `page`, by their names."""

    page: Path
    title: str
    language: str
    notes: Path | None


class Command(BaseCommand):
    help = "Write, unpack or check a recording: a file with the frames and facts of a sandbox."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        kinds = parser.add_subparsers(dest="what", required=True)
        export = kinds.add_parser("export", help="write a recording")
        export.add_argument("file", type=Path, help="the recording to write")
        source = export.add_mutually_exclusive_group(required=True)
        source.add_argument("--directory", type=Path, help="directory of a sandbox or of an imported recording")
        source.add_argument("--play", choices=list(TEMPLATES), help="play this template in virtual time")
        export.add_argument("--seed", default="0", help="with --play: seed of the run (default 0)")
        export.add_argument("--minutes", type=float, default=1.0, help="with --play: minutes to play (default 1)")
        export.add_argument(
            "--pace-ms", type=int, default=PACE_MS, help=f"milliseconds between two frames (default {PACE_MS})"
        )
        export.add_argument(
            "--beside",
            action="store_true",
            help="with --directory: run at low priority for a limited time, as the server does",
        )
        export.add_argument("--without-scores", action="store_true", help="omit the scores of labs")
        export.add_argument("--from", dest="first", type=int, default=0, help="first event")
        export.add_argument("--to", dest="last", type=int, default=END, help="last event")
        unpack = kinds.add_parser("import", help="unpack a recording into a directory of plain JSON")
        unpack.add_argument("file", type=Path)
        unpack.add_argument("directory", type=Path, help="directory to create")
        page = kinds.add_parser(
            "page", help="write a recording and its player into one HTML file that loads nothing else"
        )
        page.add_argument("file", type=Path)
        page.add_argument("page", type=Path, help="the HTML file to write")
        page.add_argument("--title", default="QueueViz")
        page.add_argument("--language", choices=[code for code, _ in settings.LANGUAGES], default="en")
        page.add_argument(
            "--notes", type=Path, help='file with notes, one per line: "#18402 Which member acquires q6?"'
        )
        check = kinds.add_parser("check", help="read a whole recording and report damage")
        check.add_argument("file", type=Path)

    def handle(self, *args: Any, what: str, file: Path, **options: Any) -> None:
        try:
            if what == "export":
                self._export(file, cast(ExportOptions, options))
            else:
                with file.open("rb") as data:
                    recording = Recording(data)
                    if what == "import":
                        folder.unpack(recording, options["directory"])
                    else:
                        recording.check()
                    if what == "page":
                        self._page(file, cast(PageOptions, options))
                    self._print(file, recording)
        except (BadRecording, CorruptRecord) as error:
            raise CommandError(str(error)) from error
        except ActionRefused as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}. Choose another path.") from error

    def _export(self, file: Path, options: ExportOptions) -> None:
        if options["minutes"] <= 0 or options["pace_ms"] <= 0:
            raise CommandError("--minutes and --pace-ms must be greater than 0.")
        with _source(options) as (about, frames, facts):
            kept = in_range(frames, options["first"], options["last"])
            rows = map(without_score, facts) if options["without_scores"] else facts
            data = write_recording(about, kept, rows)
        file.write_bytes(data)
        if not options["beside"]:
            with file.open("rb") as written:
                self._print(file, Recording(written))

    def _page(self, file: Path, options: PageOptions) -> None:
        with translation.override(options["language"]):
            notes = notes_of(options["notes"].read_text("utf-8")) if options["notes"] else ()
            text = offline_page(file.read_bytes(), title=options["title"], language=options["language"], notes=notes)
        options["page"].write_text(text, "utf-8")

    def _print(self, file: Path, recording: Recording) -> None:
        head = recording.head
        self.stdout.write(
            f"{file}: {head.file_bytes} bytes, {head.frames} frames and {head.facts} facts in "
            f"{len(head.chunks)} chunks, events {head.seq[0]} to {head.seq[1]}, "
            f"{(head.at_ms[1] - head.at_ms[0]) / 1000:.1f} s"
        )


Source = tuple[About, Iterable[Frame], Iterable[Row]]


@contextmanager
def _source(options: ExportOptions) -> Iterator[Source]:
    directory, template = options["directory"], options["play"]
    if directory is None and template is not None:
        with tempfile.TemporaryDirectory() as home, World(Path(home), template, seed=options["seed"]) as world:
            about = About(__version__, template, "sandbox", options["seed"], options["pace_ms"])
            frames = list(recorded_frames(world, options["minutes"] * 60, pace_ms=options["pace_ms"]))
            world.cluster.journal.settle()
            world.sleep("recorded")
            yield about, frames, journal_range.facts_of(Path(home) / "sandboxes" / "world")
    elif directory is not None and folder.is_folder(directory):
        yield folder.about_of(directory), folder.frames_of(directory), folder.facts_of(directory)
    elif directory is not None:
        run = RecordedRun(directory.resolve(), options["first"], options["last"], pace_ms=options["pace_ms"])
        yield run.about(__version__), run.frames(_step_back() if options["beside"] else _say_nothing), run.facts()


def _say_nothing(done: float) -> None:
    return None


def _step_back() -> Callable[[float], None]:
    """Lower the priority and limit the time of this process.

    Return a function that prints the progress, at most one line per percent.
    """
    os.nice(NICENESS)
    signal.alarm(ceil(HostLimits().recording_s))
    reported = -1.0

    def say(done: float) -> None:
        nonlocal reported
        if done >= reported + 0.01:
            reported = done
            print(f"{done:.3f}", flush=True)

    return say
