"""The timers of a running server: its heartbeat, courses past their retention, scores to send, runs to execute."""

from queueviz.courses import outages, retention
from queueviz.lti import scores
from queueviz.operations import server_load
from queueviz.operations.periodic import Periodic
from queueviz.operations.proof_process import ProofProcess
from sandbox.kernel.errors import SandboxError

BEAT_EVERY_S = 10.0
SWEEP_EVERY_S = 60.0
SCORES_EVERY_S = 5.0
PROOFS_EVERY_S = 5.0


def timers() -> list[Periodic]:
    """Return all timers; the heartbeat is the first."""
    return [
        Periodic("heartbeat", beat, BEAT_EVERY_S),
        Periodic("retention of courses", retention.sweep, SWEEP_EVERY_S),
        Periodic("lti scores", scores.turn, SCORES_EVERY_S),
        Periodic("runs of browsers", ProofProcess().turn, PROOFS_EVERY_S),
    ]


def start() -> list[Periodic]:
    """Start the timers.  The first beat comes before the first visitor, because an outage moves deadlines."""
    started = timers()
    started[0].once()
    return [timer.start() for timer in started]


def beat() -> None:
    """Note that the server is alive, if all engines answer: for students of a silent engine it is away."""
    try:
        load = server_load.load()
    except SandboxError:
        return
    if not load.silent and not load.starting:
        outages.beat()
