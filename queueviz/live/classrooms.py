"""The live class channel (`class/<course>`), the same for all members: its poll, and the open steps of its labs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from channels.db import database_sync_to_async

from queueviz.courses.classroom import content

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort


class Classroom:
    """The source of a class channel.  All content is in the database, so no engine is asked."""

    def __init__(self, _port: "EnginePort", slug: str) -> None:
        self._slug = slug

    async def read(self) -> Mapping[str, object] | None:
        contents: Mapping[str, object] | None = await database_sync_to_async(content)(self._slug)
        return contents
