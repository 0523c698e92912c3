"""The record of a new sandbox: its seed, its nodes and their permanent addresses."""

from hashlib import sha256
from typing import Any

from sandbox.cluster.config import HostConfig
from sandbox.cluster.presets import preset_of
from sandbox.cluster.record import NodeRecord, SandboxRecord
from sandbox.cluster.templates import template_of
from sandbox.kernel.engine_version import ENGINE
from sandbox.kernel.errors import ActionRefused

SEED_CHARS = 16
PORT_STEP = 4  # RocketMQ derives the fast listener (-2) and the HA port (+1) from a broker's port


def new_record(slug: str, template: str, *, preset: str, seed: str | int | None, changes: dict[str, object] | None,
               limits: dict[str, Any] | None, config: HostConfig, ports_taken: set[int], now_ms: int) -> SandboxRecord:
    """Without a `seed` it is made from the name and the time.

    Raises ActionRefused (422) for an unknown template, preset or key, (503) when no port is left.
    """
    chosen = template_of(template)
    all_changes = {**chosen.changes, **(changes or {})}
    preset_of(preset, all_changes)
    ports = iter([port for port in range(config.first_port, config.last_port, PORT_STEP) if port not in ports_taken])

    def address() -> str:
        port = next(ports, None)
        if port is None:
            raise ActionRefused(503, "No port is left for another broker.", "Delete a sandbox you no longer need.")
        return f"{config.node_host}:{port}"

    nodes = [NodeRecord("broker", *_name_and_id(node), address()) for node in chosen.brokers]
    nodes += [NodeRecord("name_server", f"ns-{number}", 0, address()) for number in range(1, chosen.name_servers + 1)]
    return SandboxRecord(slug=slug, template=template, preset=preset, changes=all_changes,
                         seed=str(seed) if seed is not None else _seed_of(slug, now_ms), nodes=nodes,
                         limits=dict(limits or {}), engine=ENGINE)


def _seed_of(slug: str, now_ms: int) -> str:
    """Recipes and recordings hold it: the sandbox's address cannot be read from it."""
    return sha256(f"{slug} {now_ms}".encode()).hexdigest()[:SEED_CHARS]


def _name_and_id(node: str) -> tuple[str, int]:
    """`broker-a.1` is slave 1 of `broker-a`."""
    name, _, broker_id = node.partition(".")
    return name, int(broker_id or 0)
