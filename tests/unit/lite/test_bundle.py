"""Contents of the archive of browsers: modules that the engine imports, none that needs sockets, threads or Django."""

from pathlib import Path

import pytest

from sandbox.lite.bundle import NOT_IN_A_BROWSER, external_names, modules_of

PACKAGES = {"sandbox", "queueviz"}
FORBIDDEN = {"channels", "concurrent.futures.thread", "django", "multiprocessing", "pyspark", "resource", "selectors"}
FORBIDDEN |= {"socket", "ssl", "subprocess", "threading"}


@pytest.fixture(scope="module")
def engine() -> dict[str, Path]:
    return modules_of(["sandbox.lite.entry"], PACKAGES)


def test_the_engine_of_a_browser_imports_no_django_no_socket_and_no_thread(engine: dict[str, Path]) -> None:
    names = external_names(list(engine.values()), PACKAGES)
    assert {name: paths for name, paths in names.items() if name in FORBIDDEN} == {}


def test_it_imports_nothing_of_the_web(engine: dict[str, Path]) -> None:
    assert [name for name in engine if name.startswith("queueviz")] == []


def test_modules_that_are_imported_by_their_file_names_are_there(engine: dict[str, Path]) -> None:
    assert {"sandbox.commands.faults", "sandbox.queries.questions.crash", "sandbox.queries.snapshot.tile"} <= set(
        engine
    )


def test_a_module_that_is_left_out_exists() -> None:
    for name in NOT_IN_A_BROWSER:
        assert modules_of(["sandbox.hosting.host"], PACKAGES).get(name) is None
        assert Path(*name.split(".")).with_suffix(".py").exists()


def test_an_import_for_types_alone_does_not_count(engine: dict[str, Path]) -> None:
    assert "sandbox.hosting.lease" not in engine, "the host names it under TYPE_CHECKING"


def test_a_root_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ModuleNotFoundError):
        modules_of(["sandbox.nowhere"], PACKAGES)
