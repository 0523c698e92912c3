"""Requests of a group's members, by setting: the sentences of members that differ."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from sandbox.findings.finding import Said, say
from sandbox.findings.view import GroupNow
from sandbox.queries.rows.board import MemberRow
from sandbox.queries.rows.member_words import EXPRESSIONS, LISTENER, MODEL, TOPICS

STRATEGY = "strategies"  # beside the settings of `member_words`
MOST_REQUESTS = 4  # of one setting


class Request(NamedTuple):
    """One value of a setting that some members of a group request.  `topic`: of an expression; empty: of the others."""

    setting: str
    topic: str
    request: str
    keys: list[str]


def requests_of(group: GroupNow, setting: str) -> Iterator[Request]:
    """Yield the requests of one setting, the most frequent first."""
    members, strategies = group.online(), group.strategies or {}
    if setting == EXPRESSIONS:
        for topic in sorted({sub["topic"] for row in members.values() for sub in row["subscriptions"] or ()}):
            requests = _by_request(members, partial(_expression, topic))
            if len(requests) > 1:
                yield from _most_frequent("expression", requests, topic)
    elif setting == TOPICS:
        yield from _most_frequent("topics", _by_request(members, lambda _, row: _topics(row)))
    elif setting == STRATEGY:
        yield from _most_frequent("strategy", _by_request(members, lambda key, _: strategies.get(key)))
    elif setting == MODEL:
        yield from _most_frequent("model", _by_request(members, lambda _, row: row["model"]))
    elif setting == LISTENER:
        yield from _most_frequent("listener", _by_request(members, lambda _, row: row["listener"]))


def sentence_of(request: Request) -> Said:
    more = len(request.keys) - 1
    topic = {"topic": request.topic} if request.topic else {}
    name = f"{request.setting}_more" if more else request.setting
    return say(name, who=request.keys[0], more=more, request=request.request, **topic)


def _expression(topic: str, _: str, row: MemberRow) -> str | None:
    for sub in row["subscriptions"] or ():
        if sub["topic"] == topic and sub["expression"] is not None:
            return f"{sub['expression']} (SQL92)" if sub["kind"] == "SQL92" else sub["expression"]
    return None


def _topics(row: MemberRow) -> str | None:
    return None if row["subscriptions"] is None else ", ".join(sorted(sub["topic"] for sub in row["subscriptions"]))


def _by_request(
    members: Mapping[str, MemberRow], request_of: Callable[[str, MemberRow], str | None]
) -> dict[str, list[str]]:
    requests: dict[str, list[str]] = {}
    for key, row in members.items():
        request = request_of(key, row)
        if request is not None:
            requests.setdefault(request, []).append(key)
    return requests


def _most_frequent(setting: str, requests: dict[str, list[str]], topic: str = "") -> Iterator[Request]:
    for request, keys in sorted(requests.items(), key=lambda item: -len(item[1]))[:MOST_REQUESTS]:
        yield Request(setting, topic, request, keys)
