"""`{% server_load as now %}`: the server's load on the first page of the admin."""

from __future__ import annotations

from django import template

from queueviz.operations.server_load import Load, load
from sandbox.kernel.errors import SandboxError

register = template.Library()


@register.simple_tag
def server_load() -> Load | None:
    """Return the server's load, or None if the engine does not answer."""
    try:
        return load()
    except SandboxError:
        return None
