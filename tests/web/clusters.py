"""Attached clusters for tests: a row, and people with their browsers."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from queueviz.models import Cluster

SLUG = "k.prod"


def cluster(
    name: str = "prod",
    *,
    audience: str = "named",
    viewers: tuple[User, ...] = (),
    operators: tuple[User, ...] = (),
    **fields: Any,
) -> Cluster:
    made = Cluster(name=name, audience=audience, **{"name_servers": "10.0.0.1:9876;10.0.0.2:9876", **fields})
    made.full_clean()
    made.save()
    made.viewers.set(viewers)
    made.operators.set(operators)
    return made


def account(name: str, **rights: bool) -> User:
    return User.objects.create_user(name, **rights)  # no password: hashing one takes its time


def browser_of(user: User | None) -> Client:
    made = Client()
    if user is not None:
        made.force_login(user)
    return made
