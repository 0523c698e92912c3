"""What everything inside one sandbox shares."""

from collections.abc import Callable
from pathlib import Path

from sandbox.cluster.environment import Ground, Network
from sandbox.cluster.listeners import Listening
from sandbox.cluster.presets import Preset
from sandbox.control.limits import SandboxLimits
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.store.results import RecoveryReport


class Surroundings:
    """Handed to every node and actor of one sandbox."""

    def __init__(self, directory: Path, ground: Ground, network: Network, clock: Clock, chance: Chance,
                 journal: Journal, preset: Preset, limits: SandboxLimits, listening: Listening) -> None:
        self.directory = directory
        self.ground = ground
        self.network = network
        self.clock = clock
        self.chance = chance
        self.journal = journal
        self.preset = preset
        self.limits = limits
        self.listening = listening
        self.disk_refused: Callable[[OSError, int], None] = lambda why, asked_bytes: None  # by the disk of a broker
        self.log_cut: Callable[[str, RecoveryReport], None] = lambda node, report: None  # when the node was opened
        self.home_full = False  # what all sandboxes may take together is used up
