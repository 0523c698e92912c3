"""A transcript of a stage in comparable lines: commands on the wire and the journal's events.

A script is scenes; a scene is a title (`# …`) and steps; a step is orders above a line `---` and a transcript below:

    broker topics=T:1                             a fresh broker
    pull c1 T/0 offset=0 patience=15s [tags=A]    that may be parked
    send p1 T/0 "hello" [tags=A]
    heartbeat c1 group=g topics=T
    close c1
    advance 4s
"""

import re
import shlex
from collections.abc import Callable
from typing import Any

from sandbox.journal.events import Event, MemberJoined, MemberLeft, MessagesStored, OffsetMoved, PullSuspended
from sandbox.message import record
from sandbox.remoting.codes import RequestCode, request_name
from sandbox.remoting.command import RemotingCommand
from tests.unit.broker.stage import BROKER, Client, Stage

GROUP = "g"


class Transcript:
    """One scene, as far as it has been played."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._clients: dict[str, Client] = {}
        self._names: dict[str, str] = {}
        self._asked: dict[tuple[str, int], RemotingCommand] = {}
        self._seq = 0
        self._stage: Stage

    def play(self, order: str) -> None:
        """Carry out one order; what happens is in `lines`."""
        verb, *words = shlex.split(order)
        places = [word for word in words if "=" not in word]
        options = dict(word.split("=", 1) for word in words if "=" in word)
        verbs: dict[str, Callable[..., None]] = {
            "broker": self._broker,
            "pull": self._pull,
            "send": self._send,
            "heartbeat": self._heartbeat,
            "close": self._close,
            "advance": self._advance,
        }
        verbs[verb](*places, **options)

    def _broker(self, *, topics: str) -> None:
        self._stage = Stage()
        for topic in topics.split(","):
            name, queues = topic.split(":")
            self._stage.topic(name, int(queues))
        self._seq = self._stage.time.journal.next_seq
        self._stage.time.journal.subscribe(self._news)
        self._stage.network.tap = self._heard

    def _pull(self, who: str, queue: str, *, offset: str, patience: str, tags: str = "*") -> None:
        topic, queue_id = queue.split("/")
        self._client(who).park(
            GROUP,
            topic,
            int(offset),
            queue=int(queue_id),
            subscription=tags,
            patience_ms=int(float(patience.rstrip("s")) * 1000),
        )

    def _send(self, who: str, queue: str, body: str, *, tags: str = "") -> None:
        topic, queue_id = queue.split("/")
        self._client(who).send(topic, body.encode(), queue=int(queue_id), properties=f"TAGS\x01{tags}" if tags else "")

    def _heartbeat(self, who: str, *, group: str, topics: str) -> None:
        self._client(who).heartbeat(who, group, *topics.split(","))

    def _close(self, who: str) -> None:
        self._client(who).close()

    def _advance(self, seconds: str) -> None:
        self._stage.pass_s(float(seconds.rstrip("s")))

    def _client(self, who: str) -> Client:
        if who not in self._clients:
            client = self._clients[who] = self._stage.client()
            self._names[client.channel.local] = who  # type: ignore[attr-defined]
        return self._clients[who]

    def _say(self, line: str) -> None:
        now_s = self._stage.time.clock.monotonic()
        self.lines.append(f"[{now_s:.3f}] {line}" if now_s else line)

    def _news(self) -> None:
        journal = self._stage.time.journal
        for entry in journal.since(self._seq):
            self._seq = entry.seq + 1
            reported = event_line(entry.event, self._names)
            if reported is not None:
                self._say(f"broker {reported}")

    def _heard(self, sender: str, receiver: str, command: RemotingCommand) -> None:
        if receiver == BROKER:
            self._asked[sender, command.opaque] = command
            self._say(f"{self._names[sender]} → broker {request_line(command)}")
        elif receiver in self._names:
            asked = self._asked.get((receiver, command.opaque)) if command.is_response else None
            said = answer_line(asked, command) if asked else request_line(command)
            self._say(f"broker → {self._names[receiver]} {said}")


def request_line(c: RemotingCommand) -> str:
    ext, name = c.ext or {}, request_name(c.code)
    if c.code == RequestCode.PULL_MESSAGE:
        return f"{name} {ext['topic']}/{ext['queueId']} offset={ext['queueOffset']}"
    if c.code == RequestCode.SEND_MESSAGE_V2:
        return f"{name} {ext['b']}/{ext['e']}"
    return name


def answer_line(asked: RemotingCommand, c: RemotingCommand) -> str:
    ext = c.ext or {}
    if asked.code == RequestCode.PULL_MESSAGE:
        bodies = "".join(f' "{message.body.decode()}"' for message in record.decode_all(c.body or b""))
        return f"{c.remark} next={ext.get('nextBeginOffset')}{bodies}"
    if asked.code == RequestCode.SEND_MESSAGE_V2:
        return f"SUCCESS {(asked.ext or {})['b']}/{ext['queueId']} @{ext['queueOffset']}"
    return f"{request_name(asked.code)} {int(c.code)}"


def event_line(event: Event, names: dict[str, str]) -> str | None:
    """Return the line of an event beyond the wire, else None.  Clients without a heartbeat appear by address."""
    name = type(event).__name__
    if isinstance(event, PullSuspended):
        who = names.get(event.client_id, event.client_id)
        return f"{name} {who} {event.topic}/{event.queue_id} {event.patience_ms / 1000:.3f}s"
    if isinstance(event, MessagesStored):
        return f"{name} {event.topic}/{event.queue_id} @{event.first_offset} +{event.count}"
    if isinstance(event, OffsetMoved):
        return f"{name} {event.topic}/{event.queue_id} {event.asked} → {event.given}"
    if isinstance(event, MemberJoined):
        return f"{name} {event.client_id} {event.group}"
    if isinstance(event, MemberLeft):
        return f"{name} {event.client_id} {event.group} {event.reason}"
    return None


def scenes(text: str) -> list[tuple[str, list[tuple[list[str], list[str]]]]]:
    """Titles with their steps; a step is its orders and its transcript."""
    found: list[tuple[str, list[tuple[list[str], list[str]]]]] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines: list[Any] = block.splitlines()
        if lines[0].startswith("# "):
            found.append((lines.pop(0)[2:], []))
        at = lines.index("---")
        found[-1][1].append((lines[:at], lines[at + 1 :]))
    return found
