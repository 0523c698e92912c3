"""The configuration of `manage.py broker`, made from its options and a `broker.conf`."""

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from sandbox.broker import config as broker_config
from sandbox.broker.acl_config import AclConfig
from sandbox.broker.config import BrokerConfig, BrokerLimits
from sandbox.kernel.errors import SandboxError
from sandbox.remoting.bodies import ClusterInfo
from sandbox.store import config as store_config
from sandbox.store.config import MessageStoreConfig
from sandbox.tools.property_values import QUEUE_FILE, settled

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 9876
MAX_BROKERS = 16
PORTS_APART = 10  # between brokers of one process; each also has the port after its own, for slaves
LIMITS = BrokerLimits(topics=10_000, queues=131_072, groups=10_000)  # of one broker; any sender can create them
LEAST_LOG_FILE_BYTES = 64 * 1024
MAX_PORT = 65_534
HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?")
KNOWN = {
    *broker_config.PROPERTIES,
    *store_config.PROPERTIES,
    "brokerName",
    "brokerRole",
    QUEUE_FILE,
    "messageDelayLevel",
    "namesrvAddr",
    "listenPort",
    "brokerIP1",
    "aclEnable",
}


class CannotStart(SandboxError):
    """The error for an option, a file or a port that prevents the start; the sentence names it."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of the command line.  `properties` are those of Apache's `broker.conf`."""

    store: Path
    listen: str | None = None
    properties: Mapping[str, str]
    brokers: int = 1
    slave_of: Sequence[str] = ()
    name_servers: Sequence[str] = ()
    public: bool = False
    accounts: AclConfig | None = None  # None: no signature needed
    accounts_file: Path | None = None  # read again when it changes


class BrokerPlan(NamedTuple):
    """The configuration of one broker.

    It binds `ip` and the port of its address, which is the address that others use.
    """

    config: BrokerConfig
    store: MessageStoreConfig
    directory: Path
    ip: str

    @property
    def port(self) -> int:
        return int(self.config.address.rpartition(":")[2])


class Plan(NamedTuple):
    """The configuration of the whole process.

    `own_name_server`: the address of this process's name server; with one broker it is the broker's own.
    """

    brokers: tuple[BrokerPlan, ...]
    ip: str
    own_name_server: str | None
    name_servers: tuple[str, ...]
    unknown: tuple[str, ...]  # keys of the properties that are not used
    notes: tuple[str, ...]  # what RocketMQ reads in another way, in sentences


class Master(NamedTuple):
    """The master of a slave, as a name server lists it."""

    broker: str
    cluster: str


def name_servers_of(options: Options) -> tuple[str, ...]:
    """Return the name servers to register with; empty: this process runs its own.

    Without named ones, a slave registers at its master's address, since a QueueViz broker also serves as a name server.
    """
    addresses = options.properties.get("namesrvAddr", "").split(";")
    named = options.name_servers or [each.strip() for each in addresses if each.strip()]
    for address in (*named, *options.slave_of):
        _host_and_port(address, "address")
    return tuple(named or options.slave_of[:1])


def master_at(address: str, cluster: ClusterInfo) -> Master:
    """Return the master that is registered at an address.  Raises CannotStart if there is none."""
    for broker in cluster.brokers.values():
        if broker.addresses.get(0) == address:
            return Master(broker.name, broker.cluster)
    known = ", ".join(sorted(b.addresses[0] for b in cluster.brokers.values() if 0 in b.addresses)) or "none"
    raise CannotStart(f"No master is registered at {address}; masters are: {known}.")


def resolved(host: str) -> str:
    """Return the IP address of a host name, as this machine resolves it.  Raises CannotStart."""
    try:
        return socket.gethostbyname(host)
    except (OSError, UnicodeError) as error:
        raise CannotStart(
            f"The host name brokerIP1={host} cannot be resolved. Write an IP address such as 10.0.0.5, or add the "
            "name to /etc/hosts."
        ) from error


def make_plan(options: Options, masters: Sequence[Master] = (), *, resolve: Callable[[str], str] = resolved) -> Plan:
    """Return the configuration of the process.  Raises CannotStart.

    `masters`: those of the addresses in `slave_of`, in their order.
    """
    properties, notes = settled(options.properties)
    ip, port = listening(options)
    shown_ip = properties.get("brokerIP1", "" if ip == "0.0.0.0" else ip)
    if not shown_ip:
        raise CannotStart(
            "A broker that listens on every address needs one address for its clients: set brokerIP1 in the properties."
        )
    if HOST.fullmatch(shown_ip) is None:
        raise CannotStart(f"{shown_ip!r} is not a valid brokerIP1. Write it as 10.0.0.5 or broker.example.org.")
    host = shown_ip if _is_ip(shown_ip) else resolve(shown_ip)
    count = len(masters) or options.brokers
    if not 1 <= count <= MAX_BROKERS or (masters and options.brokers != 1):
        raise CannotStart(f"One process runs 1 to {MAX_BROKERS} brokers, or only slaves of masters in other processes.")
    elsewhere = name_servers_of(options)
    own = None if elsewhere else f"{shown_ip}:{port}"
    first = port if count == 1 or elsewhere else port + PORTS_APART
    if first + PORTS_APART * (count - 1) + 1 > 65_535:
        raise CannotStart(
            f"There are not enough ports above {port} for {count} brokers. Choose a lower port with --listen."
        )
    plans = []
    for n in range(count):
        mine = _renamed(properties, n, count, masters[n] if masters else None)
        config = replace(_broker(mine, f"{shown_ip}:{first + PORTS_APART * n}"), host=host)
        if options.accounts is not None:
            config = replace(config, acl=options.accounts)
        elif config.acl is not None:
            raise CannotStart(
                "aclEnable=true without accounts refuses every client. Name the accounts with --acl plain_acl.yml."
            )
        directory = options.store if count == 1 else options.store / config.node
        plans.append(BrokerPlan(config, _store(mine), directory, ip))
    _check_layout(options.store, count)
    return Plan(
        tuple(plans), ip, own, elsewhere or (f"{shown_ip}:{port}",), tuple(sorted(set(properties) - KNOWN)), notes
    )


def listening(options: Options) -> tuple[str, int]:
    """Return the IP address and port to bind.

    Raises CannotStart for an address that other machines reach, unless an option allows it.
    """
    address = options.listen or f"{DEFAULT_HOST}:{options.properties.get('listenPort', str(DEFAULT_PORT)).strip()}"
    ip, port = split(address, "address to listen on")
    if not ipaddress.ip_address(ip).is_loopback and not options.public:
        raise CannotStart(f"Other machines could use a broker at {address}. Add --public to allow this.")
    return ip, port


def split(address: str, what: str) -> tuple[str, int]:
    """Return IP address and port to bind from `ip:port`.

    Raises CannotStart.  `what`: the name of the value in the error.
    """
    host, port = _host_and_port(address, what)
    host = DEFAULT_HOST if host == "localhost" else host
    if not _is_ip(host):
        raise CannotStart(f"{address!r} is not a valid {what}. Write it as 127.0.0.1:9876.")
    return host, port


def _host_and_port(address: str, what: str) -> tuple[str, int]:
    """Return host and port from `host:port`.  Raises CannotStart.

    The host may be a name, which is resolved when it is used.
    """
    host, _, port = address.rpartition(":")
    if HOST.fullmatch(host) is None or not port.isdecimal() or not 1 <= int(port[:6]) <= MAX_PORT:
        raise CannotStart(f"{address!r} is not a valid {what}. Write it as 127.0.0.1:9876 or broker.example.org:9876.")
    return host, int(port)


def _is_ip(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 4
    except ValueError:
        return False


def _renamed(properties: Mapping[str, str], n: int, count: int, master: Master | None) -> dict[str, str]:
    """Return the properties of broker number `n` of `count`, with its own name or that of its master."""
    mine = dict(properties)
    if master is not None:
        mine |= {"brokerName": master.broker, "brokerClusterName": master.cluster, "brokerRole": "SLAVE"}
        mine.setdefault("brokerId", "1")
        if mine["brokerId"] == "0":
            mine["brokerId"] = "1"  # as in Apache's sample files, for every broker
    elif count > 1:
        name = properties.get("brokerName")
        mine["brokerName"] = f"broker-{chr(ord('a') + n)}" if name is None else f"{name}-{n + 1}"
    return mine


def _broker(properties: Mapping[str, str], address: str) -> BrokerConfig:
    try:
        return replace(BrokerConfig.from_properties(properties, address=address), limits=LIMITS)
    except ValueError as error:
        raise CannotStart(
            _blamed(
                properties,
                broker_config.PROPERTIES,
                error,
                lambda values: BrokerConfig.from_properties(values, address=address),
            )
        ) from error


def _store(properties: Mapping[str, str]) -> MessageStoreConfig:
    try:
        config = MessageStoreConfig.from_properties(properties)
    except ValueError as error:
        keys = (*store_config.PROPERTIES, QUEUE_FILE, "messageDelayLevel")
        raise CannotStart(_blamed(properties, keys, error, MessageStoreConfig.from_properties)) from error
    if config.commit_log_file_bytes < LEAST_LOG_FILE_BYTES:
        raise CannotStart(f"mappedFileSizeCommitLog={config.commit_log_file_bytes} is below {LEAST_LOG_FILE_BYTES}.")
    return config


def _blamed(
    properties: Mapping[str, str], keys: Iterable[str], error: ValueError, read: Callable[[Mapping[str, str]], object]
) -> str:
    """Return a sentence that names the key whose value is not valid."""
    for key in keys:
        if key in properties and key != "brokerRole":
            try:
                read({key: properties[key]})
            except ValueError as own:
                return f"{key}={properties[key]} cannot be read: {own}."
    return f"The properties cannot be used: {error}."


def _check_layout(store: Path, count: int) -> None:
    """Raise CannotStart if the directory has the layout of another number of brokers.

    The files of one broker are in the directory itself, as with Apache's; those of several in one directory each.
    """
    if count > 1 and (store / "commitlog").is_dir():
        raise CannotStart(f"{store} is the store of one broker. Choose another directory for {count} brokers.")
    if count == 1 and not (store / "commitlog").is_dir() and store.is_dir():
        inside = sorted(path.parent.name for path in store.glob("*/commitlog"))
        if inside:
            raise CannotStart(
                f"{store} has the stores of {', '.join(inside)}. Set --brokers {len(inside)}, or "
                f"choose one of the stores with --store."
            )
