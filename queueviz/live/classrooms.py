"""The live class channel, the same for all in a course (`class/<course>`): its poll, and how far its labs are open."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from channels.db import database_sync_to_async

from queueviz.courses.classroom import content

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort


class Classroom:
    """All of it is in the database: no engine is asked."""

    def __init__(self, _port: "EnginePort", slug: str) -> None:
        self._slug = slug

    async def read(self) -> Mapping[str, object] | None:
        contents: Mapping[str, object] | None = await database_sync_to_async(content)(self._slug)
        return contents
