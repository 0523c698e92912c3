"""Configuration of a host, with numbers and names only."""

from dataclasses import dataclass, field

from sandbox.control.limits import HostLimits, SandboxLimits


@dataclass(frozen=True, kw_only=True)
class HostConfig:
    """Configuration of a host.

    `sandbox_limits` are those of a new sandbox; `node_host` and the ports become part of stored records.
    """

    limits: HostLimits = field(default_factory=HostLimits)
    sandbox_limits: SandboxLimits = field(default_factory=SandboxLimits)
    node_host: str = "127.0.0.1"
    first_port: int = 20_000
    last_port: int = 60_000
    look_around_s: float = 5.0  # how often idle sandboxes are closed
    repeatable: bool = True  # new sandboxes record their run, so that it can be executed again (decision 15)
    history_s: int = 0  # length of the recorded history with which new sandboxes start; 0: none
    keyframe_s: float = 10.0
    remember_s: float = 10.0
    journal_write_s: float = 0.2
    switch_interval_s: float = 0.0005  # of Python, while engine and web server share a process
    worker_threads: int = 2  # flushes to disk, sorting a feed
