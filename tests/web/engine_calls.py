"""API calls of a browser to the engine: a sandbox, an action, the events so far."""

from typing import Any

import orjson
from django.test import Client

JSON = "application/json"
HTMX = {"HX-Request": "true"}


def start(client: Client, template: str) -> str:
    answer = client.post("/api/sandboxes", {"template": template}, content_type=JSON)
    assert answer.status_code == 201, answer.content
    return str(answer.json()["slug"])


def events(client: Client, slug: str, after: int = -1) -> list[dict[str, Any]]:
    answer = client.get(f"/api/sandboxes/{slug}/events?after={after}")
    assert answer.status_code == 200
    return [orjson.loads(line) for line in answer.content.splitlines()]


def act(client: Client, slug: str, **fields: Any) -> int:
    answer = client.post(f"/api/sandboxes/{slug}/actions", fields, content_type=JSON)
    assert answer.status_code == 200, answer.content
    return int(answer.json()["seq"])
