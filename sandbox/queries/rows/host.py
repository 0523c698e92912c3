"""Rows of an engine's sandboxes and clusters, and the engine itself (`status`)."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict, final


class OpenedRow(TypedDict):
    """A sandbox or a real cluster on its engine."""

    slug: str
    template: str | None  # None: of a sandbox whose files cannot be read
    preset: str | None  # None: likewise, or a real cluster
    state: str  # as in a snapshot; also branching
    watched: bool
    failed: str | None  # the reason it cannot be opened; None: it can
    epoch: str | None  # None: it is asleep
    trouble: str | None  # in English; None: nothing is wrong


@final
class HostedRow(OpenedRow):
    """A sandbox on its engine."""

    progress: float | None  # of a branch that is being made, 0 … 1; None: it is complete
    listening: bool  # its ports are open


@final
class AttachedRow(OpenedRow):
    """A real cluster on its engine."""

    name_servers: list[str]
    seen_ms: int | None  # last response of a node; None: none yet
    nodes: int
    answering: int  # nodes that run


class ListeningRow(TypedDict):
    """The listener for external clients."""

    open: bool
    name_servers: list[str]  # ip:port


class NoRoom(TypedDict):
    """The reason why no more data can be stored."""

    pattern: str  # English, filled with `values`
    values: Mapping[str, object]


class HostStatus(TypedDict):
    """One engine, or all engines of a pool together."""

    awake: int  # sandboxes
    known: int
    cap: int
    fds: int
    fd_limit: int
    sandboxes: dict[str, HostedRow]  # by slug
    attached: dict[str, AttachedRow]
    full: NoRoom | None  # None: there is room
    engines: NotRequired[int]  # of a pool
    engines_answering: NotRequired[int]
