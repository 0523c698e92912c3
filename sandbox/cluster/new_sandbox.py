"""Record of a new sandbox: its seed, its nodes and their permanent addresses."""

from collections.abc import Iterator
from hashlib import sha256

from sandbox.cluster.config import HostConfig
from sandbox.cluster.presets import preset_of
from sandbox.cluster.record import NodeRecord, SandboxRecord
from sandbox.cluster.templates import template_of
from sandbox.kernel.engine_version import ENGINE
from sandbox.kernel.errors import ActionRefused

SEED_CHARS = 16
PORT_STEP = 4  # RocketMQ derives the fast listener (-2) and the HA port (+1) from a broker's port


def new_record(
    slug: str,
    template: str,
    *,
    preset: str,
    seed: str | int | None,
    changes: dict[str, object] | None,
    limits: dict[str, object] | None,
    config: HostConfig,
    ports_taken: set[int],
    now_ms: int,
) -> SandboxRecord:
    """Create the record of a new sandbox.  Without a `seed`, one is derived from the name and the time.

    Raises ActionRefused (422) for an unknown template, preset or key, (503) if too few ports are free.
    """
    chosen = template_of(template)
    all_changes = {**chosen.changes, **(changes or {})}
    preset_of(preset, all_changes)
    addresses = _free_addresses(config, ports_taken)
    nodes = [NodeRecord("broker", *_name_and_id(node), next(addresses)) for node in chosen.brokers]
    nodes += [
        NodeRecord("name_server", f"ns-{number}", 0, next(addresses)) for number in range(1, chosen.name_servers + 1)
    ]
    return SandboxRecord(
        slug=slug,
        template=template,
        preset=preset,
        changes=all_changes,
        seed=str(seed) if seed is not None else _seed_of(slug, now_ms),
        nodes=nodes,
        limits=dict(limits or {}),
        engine=ENGINE,
    )


def with_own_addresses(nodes: list[NodeRecord], config: HostConfig, ports_taken: set[int]) -> list[NodeRecord]:
    """Return the nodes of a copied run, whose records have the original's addresses, with addresses of their own.

    Raises ActionRefused (503) if too few ports are free.
    """
    addresses = _free_addresses(config, ports_taken | {port_of(node.address) for node in nodes})
    return [node._replace(own=next(addresses)) for node in nodes]


def highest_port(template: str, first: int) -> int:
    """Return the highest port of a sandbox whose ports begin at `first`.

    Raises ActionRefused (422) if the template is unknown.
    """
    chosen = template_of(template)
    return first + PORT_STEP * (len(chosen.brokers) + chosen.name_servers - 1) + 1


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def _free_addresses(config: HostConfig, ports_taken: set[int]) -> Iterator[str]:
    """Yield free addresses.  Raises ActionRefused (503) when no port is left."""
    ports = range(config.first_port, config.last_port, PORT_STEP)
    for port in ports:
        if port not in ports_taken:
            yield f"{config.node_host}:{port}"
    if ports_taken.isdisjoint(ports):  # no other sandbox has any of them
        raise ActionRefused(
            503,
            "This server has ports {first} to {last}, too few for a sandbox.",
            "Ask the server administrator for a lower QUEUEVIZ_FIRST_PORT.",
            first=config.first_port,
            last=config.last_port - 1,
        )
    raise ActionRefused(503, "No port is left for another broker.", "Delete a sandbox you no longer need.")


def _seed_of(slug: str, now_ms: int) -> str:
    """Return a seed from which the sandbox's name cannot be read, because recipes and recordings contain it."""
    return sha256(f"{slug} {now_ms}".encode()).hexdigest()[:SEED_CHARS]


def _name_and_id(node: str) -> tuple[str, int]:
    """Split a node name into broker name and id: `broker-a.1` is slave 1 of `broker-a`."""
    name, _, broker_id = node.partition(".")
    return name, int(broker_id or 0)
