"""Functions to connect to the Ray cluster, and to create and stop engines there."""

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import NotRequired, TypedDict

from queueviz.engines import MOST_ENGINES
from sandbox.kernel.errors import EngineBusy

NAMESPACE = "queueviz"
NAME = "engine-"  # and a number from 1
CODE = Path(__file__).parents[2]
NOT_HERE = "QUEUEVIZ_RAY_ADDRESS is set, but Ray is not installed. Install the extra `scale`."
STOP_WITHIN_S = 15.0

_connecting = threading.Lock()


def connect(address: str) -> None:
    """Connect to the Ray cluster at an address as of `ray start --address`.

    Raises EngineBusy if there is no cluster, or if this machine is not a member.
    """
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # no accelerator is touched; no warning of it
    try:
        import ray
    except ImportError:
        raise EngineBusy(NOT_HERE) from None
    with _connecting:
        if ray.is_initialized():
            return
        try:
            ray.init(
                address=address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False, **_this_machine()
            )
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            raise EngineBusy(
                f"The Ray cluster at {address} is not reached from this machine: {_one_line(error)} Start "
                f"Ray here: ray start --address={address}"
            ) from error


def see_that_there_are(number: int) -> None:
    """Ensure that at least `number` engines exist; 0: as many as the cluster has cores, up to `MOST_ENGINES`."""
    import ray

    from queueviz.engines.actor import EngineActor, options

    cores = int(ray.cluster_resources().get("CPU", 1))  # type: ignore[no-untyped-call]
    number = min(MOST_ENGINES, number or cores)
    for index in range(number):
        name = f"{NAME}{index + 1}"
        ray.remote(EngineActor).options(**options(name)).remote(name, index, number)


def stop(name: str) -> None:
    """Close the engine's sandboxes, cleanly if possible, and end it for good.

    Raises LookupError if it does not exist.
    """
    import ray
    from ray.exceptions import RayError

    try:
        actor = ray.get_actor(name)
    except ValueError:
        raise LookupError(name) from None
    with suppress(RayError):  # it is ended all the same; its sandboxes recover elsewhere
        ray.get(actor.stop.remote(), timeout=STOP_WITHIN_S)
    ray.kill(actor, no_restart=True)


class Machine(TypedDict):
    """This machine's address in the cluster, if it has several."""

    _node_ip_address: NotRequired[str]


def _this_machine() -> "Machine":
    from django.conf import settings

    return {"_node_ip_address": settings.QUEUEVIZ_RAY_NODE} if settings.QUEUEVIZ_RAY_NODE else {}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
