"""Engines in processes of their own on this machine (`manage.py serve --engines N`, docs/running.md)."""

import os

MOST_ENGINES = 64
MOST_UNASKED = 4  # each takes 55 MB; larger machines set the number explicitly


def engines_for_this_machine() -> int:
    """Return the default number of engine processes: one per core this process may use, up to `MOST_UNASKED`.

    The server itself needs little of one core (docs/class-load.md).  With one core, 0: the engine is a thread of the
    server.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_UNASKED) if cores > 1 else 0
