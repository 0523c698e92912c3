"""The address of Spark: it is checked, and that a server answers there, before a process is started.

Spark itself takes a minute to report a missing master, and ten for a missing Connect server.
"""

import re
import socket
from collections.abc import Mapping
from typing import NamedTuple

from sandbox.kernel.errors import SandboxError

CONNECT_S = 5.0
CONNECT_PORT = 15_002
KEPT_IN = "spark.queueviz.kept"  # of a Connect session: where the run stores intermediate tables
MASTERS = "spark://host:7077, local[4], local-cluster[2,1,1024], yarn or k8s://https://host:443"
_HERE = re.compile(r"local(\[(\*|[1-9]\d*)(,[1-9]\d*)?\])?|local-cluster\[[1-9]\d*,[1-9]\d*,[1-9]\d*\]")
_ELSEWHERE = re.compile(r"k8s://\S+")
_SPARK = re.compile(r"spark://([^\s,/]+:\d+(?:,[^\s,/]+:\d+)*)")
_REMOTE = re.compile(r"sc://([^\s,/;:]+|\[[0-9a-fA-F:]+\])(?::(\d+))?(?:/(;\S*)?)?")


class NoSpark(SandboxError):
    """Error: no Spark at the address; the sentence says what to do."""


class Where(NamedTuple):
    """A master or a Connect server; without either, `local[*]`."""

    master: str | None = None
    remote: str | None = None

    @property
    def has_workers_here(self) -> bool:
        """True if a whole cluster is started on this machine for the run."""
        return self.master is not None and self.master.startswith("local-cluster")


def look_for(where: Where, environment: Mapping[str, str]) -> None:
    """Raise NoSpark if the address is invalid or if no server answers there."""
    if where.remote is not None:
        _look_for_server(where.remote)
    elif where.master is not None:
        _look_for_master(where.master, environment)


def _look_for_master(master: str, environment: Mapping[str, str]) -> None:
    if master == "yarn":
        if not any(environment.get(name) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")):
            raise NoSpark("The master yarn needs its configuration: set HADOOP_CONF_DIR or YARN_CONF_DIR.")
    elif match := _SPARK.fullmatch(master):
        problems = [_problem(address) for address in match.group(1).split(",")]
        if all(problems):
            raise NoSpark(f"No Spark master answers at {master}: {problems[0]}.")
    elif not _HERE.fullmatch(master) and not _ELSEWHERE.fullmatch(master):
        raise NoSpark(f"The master {master} is not an address of a Spark cluster. Write it as {MASTERS}.")


def _look_for_server(remote: str) -> None:
    match = _REMOTE.fullmatch(remote)
    if not match:
        raise NoSpark(f"{remote} is not an address of a Spark Connect server. Write it as sc://host:15002.")
    host, port = match.group(1), match.group(2) or CONNECT_PORT
    if problem := _problem(f"{host}:{port}"):
        raise NoSpark(f"No Spark Connect server answers at {remote}: {problem}.")


def _problem(address: str) -> str | None:
    """Return the reason why the address cannot be reached, or None if it can."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except TimeoutError:
        return f"{host} did not answer within {CONNECT_S:g} s"
    except socket.gaierror:
        return f"the host name {host} cannot be resolved"
    except (OSError, OverflowError) as error:
        return str(getattr(error, "strerror", None) or error).lower()
    return None
