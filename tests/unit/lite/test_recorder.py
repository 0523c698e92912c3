"""The recording that a second worker makes from a sandbox's files: that of the sandbox itself, and of its past."""

import io
from pathlib import Path

import pytest

from sandbox.control.actions import CrashActor
from sandbox.lite import entry
from sandbox.lite.entry import OWNER
from sandbox.lite.memory_disk import MAPPED
from sandbox.lite.recorder import record
from sandbox.recording.reader import Recording
from sandbox.recording.writer import write_recording
from sandbox.simulation.recorded_run import RecordedRun
from sandbox.store.disk import MappedBytes
from tests.unit.lite.test_entry import SLUG, Page

NEWEST = 10**6


@pytest.fixture
def page(tmp_path: Path) -> Page:
    """A sandbox in which a consumer crashed."""
    MAPPED.clear()
    page = Page(tmp_path / "first")
    page.begin("template", "orders")
    page.loop.run_for(3)
    page.answer(page.lite.port.act(SLUG, CrashActor(actor="A"), OWNER))
    page.loop.run_for(3)
    return page


def test_the_second_worker_makes_the_recording_that_a_server_makes_from_the_directory(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is mapped: a mapping of Emscripten is a copy, so two of a file differ, and each needs its size twice."""
    files = page.lite.files()
    assert files is not None
    run = RecordedRun(tmp_path / "first" / "sandboxes" / SLUG, 0, NEWEST)
    of_server = write_recording(run.about("1.0"), run.frames(), run.facts())
    monkeypatch.delattr(MappedBytes, "__init__")
    shares: list[float] = []
    made = record(tmp_path / "second", files, 0, NEWEST, "1.0", shares.append)
    assert made == of_server
    assert len(shares) > 40
    assert sorted(shares) == shares
    assert Recording(io.BytesIO(made)).head.frames > 40


def test_the_sandbox_is_saved_as_before(page: Page, tmp_path: Path) -> None:
    first = page.lite.record()
    page.loop.run_for(1)
    page.lite.files()
    second = page.lite.record()
    assert first is not None
    assert second is not None
    assert first[1] is True
    assert second[1] is False
    assert len(second[0]) < len(first[0])


def test_files_that_are_too_large_are_not_given(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    page.lite.record()
    monkeypatch.setattr(entry, "MOST_KEPT_BYTES", 1000)
    assert page.lite.files() is None
