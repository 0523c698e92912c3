"""Objects that all parts of one sandbox share."""

from collections.abc import Callable, Sequence
from pathlib import Path

from sandbox.cluster.environment import Environment, Network
from sandbox.cluster.listeners import Listeners
from sandbox.cluster.presets import Preset
from sandbox.control.limits import SandboxLimits
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.store.json_files import TableRead
from sandbox.store.results import RecoveryReport


class Context:
    """Shared objects of one sandbox, passed to each of its nodes and actors."""

    def __init__(
        self,
        directory: Path,
        environment: Environment,
        network: Network,
        clock: Clock,
        chance: Chance,
        journal: Journal,
        preset: Preset,
        limits: SandboxLimits,
        listeners: Listeners,
    ) -> None:
        self.directory = directory
        self.environment = environment
        self.network = network
        self.clock = clock
        self.chance = chance
        self.journal = journal
        self.preset = preset
        self.limits = limits
        self.listeners = listeners
        self.disk_refused: Callable[[OSError, int], None] = lambda error, asked_bytes: None  # called by a broker's disk
        self.log_cut: Callable[[str, RecoveryReport], None] = lambda node, report: None  # called when a node is opened
        self.tables_read: Callable[[str, Sequence[TableRead]], None] = lambda node, reads: None  # not from their files
        self.home_full = False  # all sandboxes together use too much disk space
