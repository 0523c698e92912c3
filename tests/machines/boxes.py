"""Sandboxes on such machines, each with the cookie of the visitor who made it."""

from typing import Any, NamedTuple

import httpx
import psycopg

from tests.machines.machines import Machines
from tests.server.server import stored

TEMPLATE, GROUP, TOPIC = "flights", "gate-display", "flights"
LIMIT_EVERY = 15  # creations, before those of an hour are forgotten
PATIENCE_S = 60.0
CSRF = "a" * 32


class Box(NamedTuple):
    """`cookie`: of its owner, whose visit wakes it."""

    slug: str
    cookie: str
    web: int


class Counts(NamedTuple):
    """`sent`: messages whose producer has its answer."""

    sent: int
    stored: int


def make(there: Machines, number: int, web: int) -> Box:
    """The `number`th of a run, from 0, by the web process of that machine."""
    if number % LIMIT_EVERY == 0:  # an address may start twenty an hour
        with psycopg.connect(there.database, autocommit=True) as connection:
            connection.execute("DELETE FROM queueviz_auditrecord WHERE what = 'create'")
    with httpx.Client(base_url=there.url(web), timeout=PATIENCE_S, cookies={"csrftoken": CSRF}) as owner:
        made = owner.post("/new/", data={"csrfmiddlewaretoken": CSRF, "template": TEMPLATE})
        assert made.status_code == 302, made.text
        cookie = "; ".join(f"{name}={value}" for name, value in owner.cookies.items())
        return Box(made.headers["Location"].split("/")[2], cookie, web)


def visit(there: Machines, box: Box) -> int:
    """The status of its page; where it is asleep, this wakes it."""
    address = f"{there.url(box.web)}/s/{box.slug}/"
    return httpx.get(address, headers={"Cookie": box.cookie}, timeout=PATIENCE_S, follow_redirects=True).status_code


def counts(there: Machines, box: Box) -> Counts | None:
    """As its snapshot says them, also asleep; None while no engine has it, or one is opening it."""
    address = f"{there.url(box.web)}/api/sandboxes/{box.slug}"
    answer = httpx.get(address, headers={"Cookie": box.cookie}, timeout=PATIENCE_S)
    whole = answer.json() if answer.status_code == 200 else {}
    if "producers" not in whole:
        return None
    return Counts(sum(int(producer["sent"]) for producer in whole["producers"]), stored(whole, TOPIC))


def by_engine(there: Machines) -> list[dict[str, Any]]:
    """Rows of `manage.py engines` with a good lease, and the `slugs` that each has."""
    rows = there.engines()
    with psycopg.connect(there.database) as connection:
        places = connection.execute("SELECT engine, slug FROM queueviz_sandboxplace").fetchall()
    return [{**row, "slugs": {slug for engine, slug in places if engine == row["engine"]}} for row in rows]
