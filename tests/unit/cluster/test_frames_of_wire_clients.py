"""The Frames page shows what external clients send and receive, byte for byte as it was on the wire."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.control.questions import parse_question
from sandbox.remoting.frame import FrameDecoder
from tests.unit.hosting.test_listeners import SLUG, Hall, free_port
from tests.unit.transport.tcp_stage import Raw

OTHERS_WAY = b'{ "opaque": 7, "code": 105 ,"flag":0,"language":"GO","version":317,"extFields":{"topic":"orders"}}'
FRAME = (4 + len(OTHERS_WAY)).to_bytes(4, "big") + len(OTHERS_WAY).to_bytes(4, "big") + OTHERS_WAY


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    made = Hall(tmp_path, free_port(8))
    await made.create()
    await made.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
    yield made
    await asyncio.to_thread(made.engine.stop)


async def frames(hall: Hall, link: str) -> list[dict[str, Any]]:
    asked = await hall.wait(hall.port.ask(SLUG, parse_question("frames", {"link": link})))
    return list(asked["frames"])


async def links(hall: Hall) -> dict[str, Any]:
    [reading] = await hall.wait(hall.port.read([f"wire/{SLUG}"]))
    return dict(reading.data["links"])


async def test_a_connection_from_outside_is_a_link_by_its_address_until_it_says_its_name(hall: Hall) -> None:
    address = await hall.open()
    ip, _, port = address.rpartition(":")
    raw = Raw(*await asyncio.open_connection(ip, int(port)))
    link = f"{raw.address}~broker-a"
    await hall.until(
        lambda board: raw.address in {row["address"] for row in board["connections"].values()}, of="connect"
    )
    assert (await links(hall))[link]["connections"] == 1
    beat = b'{"clientID":"far@away","producerDataSet":[{"groupName":"abroad"}],"consumerDataSet":[]}'
    head = b'{"code":34,"flag":0,"language":"JAVA","opaque":1,"version":409}'
    raw.send((4 + len(head) + len(beat)).to_bytes(4, "big") + len(head).to_bytes(4, "big") + head + beat)
    await raw.read(1)
    assert set(await links(hall)) >= {"far@away~broker-a"}
    await raw.close()


async def test_the_bytes_are_those_of_the_wire_whatever_way_a_client_writes_its_headers(hall: Hall) -> None:
    address = await hall.open()
    ip, _, port = address.rpartition(":")
    raw = Raw(*await asyncio.open_connection(ip, int(port)))
    await hall.until(lambda board: board["connections"], of="connect")
    link = f"{raw.address}~broker-a"
    assert await frames(hall, link) == []
    raw.send(FRAME)
    [answer] = await raw.read(1)
    request, reported = await frames(hall, link)
    assert bytes.fromhex(request["hex"]) == FRAME
    assert (request["from"], request["to"], request["kind"], request["name"]) == (
        raw.address,
        "broker-a",
        "request",
        "GET_ROUTEINFO_BY_TOPIC",
    )
    assert (request["pair"], reported["pair"], reported["kind"], reported["to"]) == (
        reported["no"],
        request["no"],
        "answer",
        raw.address,
    )
    [again] = FrameDecoder().feed(bytes.fromhex(reported["hex"]))
    assert (again.opaque, again.code, again.body) == (7, answer.code, answer.body)
    await raw.close()
