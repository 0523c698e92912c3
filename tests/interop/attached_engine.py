"""An engine that has attached a cluster and polls it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.attached.settings import AttachedSettings
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from tests.interop.servers import Server

WITHIN_S = 30.0


class Quiet:
    """A callback without effect; while it is registered, the cluster is polled."""

    def ring(self) -> None:
        return


@contextmanager
def attached_engine(server: Server, slug: str, home: Path) -> Iterator[EnginePort]:
    engine = Engine(home).start()
    try:
        engine.port.attach(slug, AttachedSettings((server.namesrv,))).result(WITHIN_S)
        engine.port.subscribe(slug, Quiet()).result(WITHIN_S)
        yield engine.port
    finally:
        engine.stop()
