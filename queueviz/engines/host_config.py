"""The configuration of an engine, from the server's settings and its number among the engines of a machine."""

from dataclasses import replace

from django.conf import settings

from sandbox.cluster.config import HostConfig


def host_config(number: int = 0, engines: int = 1) -> HostConfig:
    """Return the configuration of engine `number` of `engines` on this machine's addresses."""
    config = HostConfig(
        node_host=settings.QUEUEVIZ_NODE_ADDRESS,
        first_port=settings.QUEUEVIZ_FIRST_PORT,
        history_s=settings.QUEUEVIZ_HISTORY_S,
    )
    return with_ports_of(config, number, engines)


def with_ports_of(config: HostConfig, index: int, number: int) -> HostConfig:
    """Return the configuration with ports for new sandboxes that no other engine uses."""
    width = (config.last_port - config.first_port) // number
    first = config.first_port + index * width
    return replace(config, first_port=first, last_port=first + width)
