"""Brokers without web pages: real sockets and files in a process of their own (`manage.py broker`)."""

import asyncio
import contextlib
import errno
import gc
import logging
import resource
import signal
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sandbox.broker.acl_config import AclConfig
from sandbox.broker.broker import Broker
from sandbox.client.requests import ask
from sandbox.cluster.broker_node import store_host
from sandbox.cluster.live_environment import LiveEnvironment
from sandbox.cluster.routed_connector import RoutedConnector
from sandbox.cluster.shared_listener import SharedListener
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock, wall_ms
from sandbox.kernel.errors import RemotingError, StoreError, TablesDamaged
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.name_server import NameServer
from sandbox.remoting.bodies import ClusterInfo
from sandbox.remoting.channel import ByteListener, Listener
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import Malformed
from sandbox.store.disk import FileDisk
from sandbox.store.message_store import MessageStore
from sandbox.tools.accounts_file import AccountsFile
from sandbox.tools.broker_plan import (
    BrokerPlan,
    CannotStart,
    Master,
    Options,
    Plan,
    listening,
    make_plan,
    master_at,
    name_servers_of,
)
from sandbox.transport.loopback import LoopbackNetwork
from sandbox.transport.tcp_client import TcpConnector
from sandbox.transport.tcp_guard import TcpGuard
from sandbox.transport.tcp_limits import HEADLESS
from sandbox.transport.tcp_server import TcpServer

log = logging.getLogger(__name__)

FLUSH_THREADS = 2
DESCRIPTORS_RESERVED = 256
MAX_MAPPED_FILES = 16_384
REGISTERED_WITHIN_S = 3.0
CLOCK_CHECK_S = 60.0
KEPT_FACTS = 256  # not read here
OLDEST_AFTER = 100  # collections of the young generation before an old one; Python's default is 10

_TABLES = {
    "backup": "loaded a table from its backup",
    "lost": "started with an empty table, because there is no backup",
}


class Headless:
    """The brokers of this process and its name server.  Everything runs on one loop; only flushes have threads."""

    def __init__(self, options: Options, *, tls: ssl.SSLContext | None = None) -> None:
        self._options = options
        self._tls = tls
        loop = asyncio.get_running_loop()
        self._environment = LiveEnvironment(loop, worker_threads=FLUSH_THREADS)
        self.clock = ScaledClock(loop, start_ms=wall_ms())
        self.journal = Journal(self.clock, keep=KEPT_FACTS)
        self.journal.tracing = False  # no viewers
        descriptors = raised_descriptor_limit()
        self._limits = replace(HEADLESS, connections=min(HEADLESS.connections, descriptors // 2))
        self._max_mapped_files = min(MAX_MAPPED_FILES, max(48, descriptors // 2 - DESCRIPTORS_RESERVED))
        self.guard = TcpGuard(self._limits, clock=self.clock, journal=self.journal)
        self._near = LoopbackNetwork(loop, clock=self.clock)
        self._far = TcpConnector(self._limits)
        self._servers: list[TcpServer] = []
        self.plan: Plan
        self.brokers: list[Broker] = []
        self.name_server: NameServer | None = None
        self._accounts: AccountsFile | None = None

    async def start(self) -> None:
        """Start everything.  Raises CannotStart, after everything that was started is stopped."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        self._probe(*listening(self._options))
        plan = self.plan = make_plan(self._options, await self._masters())
        for broker in plan.brokers:
            self._probe(broker.ip, broker.port)
            self._probe(broker.ip, broker.port + 1)
        if plan.own_name_server is not None:
            config = NameServerConfig(address=plan.own_name_server)
            self.name_server = NameServer(config, clock=self.clock, journal=self.journal, name="ns-1")
            self._near.listen(plan.own_name_server, self.name_server)
            self.name_server.start()
        for each in plan.brokers:
            self.brokers.append(self._started(each))
        self._open_ports()
        if self.name_server is not None:
            await self._registered(self.name_server)
        self._keep_time()
        if self._options.accounts_file is not None:
            self._accounts = AccountsFile(self._options.accounts_file, self.clock, self._admit)

    def line(self) -> str:
        """Return a line with the listening addresses and the store."""
        nodes = [] if self.plan.own_name_server is None else [f"name server {self.plan.own_name_server}"]
        nodes += [
            f"{'slave' if not each.config.is_master else 'broker'} {each.config.node} {each.config.address}"
            for each in self.plan.brokers
        ]
        return f"QueueViz: {', '.join(nodes)}; store {self._options.store}"

    def strange_tables(self) -> list[str]:
        """Return a sentence for each table that was not read from its file."""
        return [
            f"{broker.config.node} {_TABLES[read.source]}: {read}."
            for broker in self.brokers
            for read in broker.strange_tables
        ]

    def refused(self) -> str:
        """Return the numbers of refused connections by reason as text; empty: none."""
        return ", ".join(f"{reason} {count}" for reason, count in sorted(self.guard.refused.items()))

    async def stop(self) -> bool:
        """Unregister, flush everything and close every connection.

        Return False if a store could not be closed cleanly.
        """
        clean = True
        if self._accounts is not None:
            self._accounts.close()
        for broker in self.brokers:
            try:
                broker.stop()
            except OSError as error:  # recovery finds what is in the page cache
                log.error("closing the store of %s failed: %s", broker.config.node, error)
                broker.store.crash()
                clean = False
        self.brokers.clear()
        for server in self._servers:
            await server.close()
        if self.name_server is not None:
            self.name_server.stop()
        await self._far.close()
        self.guard.close()
        self.clock.close()
        self._environment.close()
        return clean

    # Parts of the start.

    async def _masters(self) -> list[Master]:
        """Return the masters of this process's slaves, as the name server reports them for their addresses."""
        masters: list[Master] = []
        for address in self._options.slave_of:
            name_server = name_servers_of(self._options)[0]
            try:
                asked = RemotingCommand(RequestCode.GET_BROKER_CLUSTER_INFO)
                answer = await ask(self._far, name_server, asked, self._limits.connect_s)
                masters.append(master_at(address, ClusterInfo.decode(answer.body)))
            except (RemotingError, Malformed) as error:
                raise CannotStart(
                    f"The name server {name_server} did not return the broker at {address}: {error}."
                ) from error
        return masters

    def _started(self, plan: BrokerPlan) -> Broker:
        config = plan.config
        try:
            plan.directory.mkdir(parents=True, exist_ok=True)
            store = MessageStore(
                replace(
                    plan.store,
                    max_mapped_files=self._max_mapped_files // len(self.plan.brokers),
                    utc_offset_minutes=time.localtime().tm_gmtoff // 60,
                ),
                disk=FileDisk(plan.directory),
                clock=self.clock,
                journal=self.journal,
                broker=config.name,
                broker_id=config.broker_id,
                store_host=store_host(config.stored_address),
                flusher=self._environment.flusher,
            )
            broker = Broker(
                config,
                store=store,
                clock=self.clock,
                chance=Chance(wall_ms()).fork(config.node),
                journal=self.journal,
                connector=RoutedConnector(
                    self._near.connector(config.host or config.ip), (self.plan.own_name_server or "",), self._far
                ),
                name_servers=self.plan.name_servers,
            )
            broker.start()
        except TablesDamaged as error:
            raise CannotStart(
                f"The store {plan.directory} cannot be opened: {error}. Restore a whole file. To "
                "start with an empty table, move the damaged files away."
            ) from error
        except (StoreError, OSError) as error:
            raise CannotStart(f"The store {plan.directory} cannot be opened: {_sentence(error)}.") from error
        return broker

    def _open_ports(self) -> None:
        for plan, broker in zip(self.plan.brokers, self.brokers, strict=True):
            alone = self.name_server is not None and len(self.brokers) == 1
            self._open(self._shared(broker) if alone else broker, plan.ip, plan.port)
            self._open(broker.ha_listener, plan.ip, plan.port + 1, carries_bytes=True)
        if self.name_server is not None and len(self.brokers) > 1:
            ip, port = listening(self._options)
            self._open(self.name_server, ip, port, idle=True)

    def _shared(self, broker: Broker) -> Listener:
        name_server = self.name_server
        assert name_server is not None, "its port is shared"
        return SharedListener(broker, lambda: name_server)

    def _open(
        self, listener: Listener | ByteListener, ip: str, port: int, *, carries_bytes: bool = False, idle: bool = False
    ) -> None:
        server = TcpServer(
            listener, self.guard, carries_bytes=carries_bytes, idle=idle, tls=None if carries_bytes else self._tls
        )
        try:
            server.open(ip, port)
        except OSError as error:
            raise _no_port(ip, port, error) from error
        self._servers.append(server)

    def _probe(self, ip: str, port: int) -> None:
        """Bind and release the port before the recovery of a store, which may take long."""
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((ip, port))
            except OSError as error:
                raise _no_port(ip, port, error) from error

    async def _registered(self, name_server: NameServer) -> None:
        """Wait until the name server has registered every broker."""
        expected = {each.config.address for each in self.plan.brokers}
        changed = asyncio.Event()
        self.journal.subscribe(changed.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REGISTERED_WITHIN_S):
                while not expected <= set(name_server.route_info.live):
                    changed.clear()
                    await changed.wait()
        self.journal.unsubscribe(changed.set)

    def _admit(self, accounts: AclConfig) -> None:
        for broker in self.brokers:
            if broker.access is not None:
                broker.access.replace(accounts)

    def _keep_time(self) -> None:
        """Move the brokers' clock forward to the machine's time.  It never runs back."""
        self.clock.jump_to(wall_ms())
        self.clock.call_later(CLOCK_CHECK_S, self._keep_time)


async def serve(options: Options, say: Callable[[str], None], *, tls: ssl.SSLContext | None = None) -> bool:
    """Run until SIGINT or SIGTERM.  Return False if it did not end cleanly.  Raises CannotStart."""
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    cluster = Headless(options, tls=tls)
    await cluster.start()
    try:
        for note in cluster.plan.notes:
            say(note)
        if cluster.plan.unknown:
            say(f"Properties without effect in this broker: {', '.join(cluster.plan.unknown)}")
        for sentence in cluster.strange_tables():
            say(sentence)
        gc.collect()
        gc.freeze()  # exclude what is loaded by now from collections
        gc.set_threshold(*gc.get_threshold()[:2], OLDEST_AFTER)  # a full collection blocks the loop for 0.1 s
        say(f"{cluster.line()}   (Ctrl+C stops it)")
        await over.wait()
    finally:
        clean = await cluster.stop()
        if refused := cluster.refused():
            say(f"Refused since the start: {refused}")
    return clean


def server_tls(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """Return the TLS settings for a certificate and its key.  Raises CannotStart when the files are not valid."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["h2"])  # without it a gRPC client leaves before it can read why it is refused
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise CannotStart(f"The certificate {certificate} cannot be used: {_sentence(error)}.") from error
    return context


def raised_descriptor_limit() -> int:
    """Raise the soft limit to the hard one and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def _no_port(ip: str, port: int, error: OSError) -> CannotStart:
    reason = "another program uses this port" if error.errno == errno.EADDRINUSE else _sentence(error)
    return CannotStart(f"Cannot listen on {ip}:{port}: {reason}. Change --listen.")


def _sentence(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.removesuffix(".")
