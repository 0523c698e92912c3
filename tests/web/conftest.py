"""Pages and sockets against a port with nothing behind it; what needs the real engine says so by its fixture."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from django.utils import translation

from queueviz import engine
from queueviz.access import creation_limits
from queueviz.browsers.port import BrowserPort
from queueviz.courses import broadcasts, exporting, joining, polling, presence
from queueviz.links import past_sandboxes, recordings, replay_state, share_links
from queueviz.live import keepers
from queueviz.pages import accounts
from queueviz.sandboxes import demo, visitor_actions
from sandbox.cluster.actors.feeds import prepare_flights
from sandbox.pipeline.jobs.all_jobs import JOBS
from sandbox.pipeline.jobs.job import Job
from tests import ports
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, course_of
from tests.web.fake_port import FakePort
from tests.web.fake_recordings import FakeRecordings
from tests.web.stage import Stage

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort


@pytest.fixture(autouse=True)
def _plain_surroundings(settings: Any, tmp_path: Path) -> None:
    """A data home of its own, and static files as they are written."""
    settings.QUEUEVIZ_HOME = tmp_path
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}


@pytest.fixture(autouse=True)
def _default_language() -> Iterator[None]:
    """A request sets its reader's language, and nothing takes it back: the next test's texts would have it."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def _fresh_rates() -> None:
    """No one has done anything yet."""
    for rate in (
        creation_limits.NEWCOMERS,
        past_sandboxes.MOMENTS,
        visitor_actions.ACTIONS,
        visitor_actions.QUESTIONS,
        replay_state.STATES,
        recordings.RATE,
        demo.PRESSES,
        share_links.GUESSES,
        accounts.ATTEMPTS,
        broadcasts.BROADCASTS,
        joining.GUESSES,
        joining.JOINS,
        joining.LOOKS,
        polling.VOTES,
        presence.HANDS,
        exporting.EXPORTS,
    ):
        rate.forget()


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> FakePort:
    fake = FakePort()
    with_browsers = BrowserPort(cast("EnginePort", fake))
    monkeypatch.setattr(engine, "port", lambda: with_browsers)
    monkeypatch.setattr(engine, "is_running", lambda: True)
    monkeypatch.setattr(engine, "PATIENCE_S", 0.05)
    monkeypatch.setattr(recordings, "of_server", lambda: FakeRecordings(fake))
    return fake


@pytest.fixture
def visitor(db: None, port: FakePort) -> Client:
    """A browser that has been nowhere yet."""
    return Client()


@pytest.fixture
def anonymous(db: None, port: FakePort) -> Client:
    """Someone else's browser."""
    return Client()


@pytest.fixture
def mine(visitor: Client) -> str:
    """The slug of a sandbox the visitor started."""
    answer = visitor.post("/new/", {"template": "orders"})
    return str(answer["Location"]).split("/")[2]


@pytest.fixture
def teacher(db: None, port: FakePort) -> Client:
    return browser_of(account("teacher"))


course = course_of(LAB, "pinned-offset")


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of the page, available without their requirements; one of them has an option."""
    for name in ("delivery_audit", "lag_history", "latency", "hot_keys"):
        options = ("topic",) if name == "hot_keys" else ()
        monkeypatch.setitem(JOBS, name, Job(name, "What?", lambda given: {}, options))


@pytest.fixture(scope="session")
def flights_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the sorted flights, made once: sorting a third of a million rows takes seconds."""
    return prepare_flights(tmp_path_factory.mktemp("flights")).parent


@pytest.fixture
def real_engine(settings: Any, db: None, flights_table: Path) -> Iterator[Any]:
    """The engine itself, on its own thread, stopped after the test."""
    (settings.QUEUEVIZ_HOME / flights_table.name).symlink_to(flights_table)
    settings.QUEUEVIZ_FIRST_PORT = ports.OF_ENGINES
    yield engine.port()
    engine.stop()


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A hub in virtual time."""
    made = Stage()
    yield made
    made.close()


@pytest.fixture
async def quiet() -> AsyncIterator[None]:
    """The loop's own readers and writers end before the database is emptied."""
    yield
    loop = asyncio.get_running_loop()
    keeper, news = keepers._keepers.get(loop), keepers._news.get(loop)
    tasks = [*(keeper._tasks if keeper else ()), *([news._task] if news and news._task else ())]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await database_sync_to_async(lambda: None)()  # the thread has done what they began
