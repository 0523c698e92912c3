"""Attachment of clusters to the engine: at a visit, and after an administrator changed or removed a cluster.

A visit makes the engine poll a cluster that had no open page for a while, and applies changes made in another process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.dispatch import receiver

from queueviz import engine
from queueviz.clusters import cluster_fields
from queueviz.live.hubs import rights_changed
from sandbox.attached.settings import AttachedSettings
from sandbox.kernel.errors import ActionRefused, EngineBusy, SandboxError

if TYPE_CHECKING:
    from queueviz.access.policy import Visit
    from queueviz.browsers.port import BrowserPort
    from queueviz.models import Cluster

log = logging.getLogger(__name__)

GLANCE_S = 0.5  # how long a socket waits for the first look at a cluster; its pages wait longer

_reported: WeakKeyDictionary[BrowserPort, dict[str, AttachedSettings]] = WeakKeyDictionary()  # a new engine has none


def settings_of(cluster: Cluster) -> AttachedSettings:
    """Return the cluster's settings for the engine.

    Raises ActionRefused (409) if the secret is not in this process's environment.
    """
    secret = cluster_fields.secret_of(cluster.secret_variable) if cluster.secret_variable else None
    if cluster.secret_variable and secret is None:
        raise ActionRefused(
            409,
            "The secret key of this cluster is missing: {variable} is not set.",
            "Set this variable in the server's environment and start the server again.",
            variable=cluster.secret_variable,
        )
    return AttachedSettings(
        name_servers=cluster.addresses, access_key=cluster.access_key or None, secret_key=secret, tls=cluster.tls
    )


def demand(visit: Visit, *, patience_s: float = engine.OPENING_PATIENCE_S) -> None:
    """Attach the visited cluster to the engine and wait for the first snapshot, at most `patience_s`.

    The engine also waits for a snapshot if it has not polled the cluster for a while.  Raises ActionRefused if the
    cluster cannot be attached.  A cluster that does not respond is attached, and its state says so.  For a sandbox
    this does nothing.
    """
    cluster = visit.cluster
    if cluster is None:
        return
    port, requested = engine.port(), settings_of(cluster)
    reported = _reported.setdefault(port, {})
    future = port.attach(cluster.slug, requested)
    reported[cluster.slug] = requested
    try:
        engine.answer(future, patience_s)
    except EngineBusy:  # the engine keeps polling; until an answer the pages are empty
        log.info("the first poll of %s takes long", cluster.slug)
    except SandboxError:
        reported.pop(cluster.slug, None)
        raise


def glance(visit: Visit, patience_s: float = GLANCE_S) -> None:
    """Attach the visited cluster as `demand` does, for callers that must not wait.  Errors are only logged.

    A socket shows the snapshot once it arrives.
    """
    try:
        demand(visit, patience_s=patience_s)
    except SandboxError as error:
        log.info("attaching %s: %s", visit.sandbox.slug, error)


@receiver(post_save, sender="queueviz.Cluster")
def _saved(sender: Any, instance: Cluster, **kwargs: Any) -> None:
    _once_it_is_written(lambda: _report(instance))


@receiver(m2m_changed, sender="queueviz.Cluster_viewers")
@receiver(m2m_changed, sender="queueviz.Cluster_operators")
def _people_changed(sender: Any, instance: Cluster, action: str, **kwargs: Any) -> None:
    if action.startswith("post_"):
        _once_it_is_written(lambda: rights_changed(instance.slug))


@receiver(post_delete, sender="queueviz.Cluster")
def _deleted(sender: Any, instance: Cluster, **kwargs: Any) -> None:
    _once_it_is_written(lambda: _let_go(instance.slug))


def _once_it_is_written(report: Callable[[], None]) -> None:
    """Run `report` after the commit: an earlier read of the database would still return the old rights."""
    transaction.on_commit(report)


def _report(cluster: Cluster) -> None:
    """Send new settings to the engine if it already has the cluster.

    Any other engine gets them with the first visit.
    """
    if engine.is_running() and cluster.slug in _reported.get(engine.port(), {}):
        try:
            current = settings_of(cluster)
        except ActionRefused as error:
            log.warning("%s is released: %s", cluster.slug, error)
            return _let_go(cluster.slug)
        reported = _reported[engine.port()]
        if reported[cluster.slug] != current:
            reported[cluster.slug] = current
            engine.port().attach(cluster.slug, current)
    return rights_changed(cluster.slug)


def _let_go(slug: str) -> None:
    if engine.is_running() and _reported.get(engine.port(), {}).pop(slug, None) is not None:
        engine.port().detach(slug)
    rights_changed(slug)
