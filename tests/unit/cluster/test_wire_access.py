"""Access keys of a sandbox: external clients sign requests, in-process ones do not."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.record import FILE_NAME
from sandbox.control.access_keys import Keys
from sandbox.hosting.engine import Engine
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.signature import sign
from tests.unit.hosting.test_listeners import SLUG, Hall, free_port, route
from tests.unit.transport.tcp_stage import Raw

KEYS = Keys("otter-key", "a long secret")


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    made = Hall(tmp_path, free_port(8))
    await made.create()
    await made.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
    yield made
    await asyncio.to_thread(made.engine.stop)


async def guest(address: str) -> Raw:
    ip, _, port = address.rpartition(":")
    return Raw(*await asyncio.open_connection(ip, int(port)))


def send(opaque: int, keys: Keys | None = None, *, flag: int = 0) -> RemotingCommand:
    ext = {
        "a": "abroad",
        "b": "orders",
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": "0",
        "h": "0",
        "i": "",
        "j": "0",
    }
    command = RemotingCommand(RequestCode.SEND_MESSAGE_V2, ext, b"hello", opaque=opaque, flag=flag)
    if keys is not None:
        sign(command, *keys)
    return command


async def asked(raw: Raw, command: RemotingCommand) -> tuple[int, str]:
    raw.say(command)
    [answer] = await raw.read(1)
    return int(answer.code), (answer.remark or "").removeprefix("org.apache.rocketmq.acl.common.AclException: ")


async def test_who_does_not_sign_is_refused_in_rocketmqs_words_and_seen_so(hall: Hall) -> None:
    address = await hall.open()
    await hall.wait(hall.port.set_keys(SLUG, KEYS))
    raw = await guest(address)
    error = ResponseCode.SYSTEM_ERROR
    assert await asked(raw, send(1)) == (error, "No accessKey is configured")
    assert await asked(raw, send(2, Keys("otter-kez", "a long secret"))) == (error, "No acl config for otter-kez")
    wrong = (error, "Check signature failed for accessKey=otter-key")
    assert await asked(raw, send(3, KEYS._replace(secret_key="another one"))) == wrong
    assert (await asked(raw, send(4, KEYS)))[0] == ResponseCode.SUCCESS
    raw.say(send(5, flag=FLAG_ONEWAY))
    rows = await hall.until(
        lambda board: [row for row in board["connections"].values() if row["denied"] == 4], of="connect"
    )
    assert rows[0]["denial"] == "unsigned"
    [queue] = (await hall.snapshot())["topics"][0]["queues"]
    assert queue["max"] == "1", "only what was signed is stored"
    await raw.close()


async def test_a_name_server_answers_everyone_and_lets_no_one_change_it(hall: Hall) -> None:
    address = await hall.open()
    await hall.wait(hall.port.set_keys(SLUG, KEYS))
    raw = await guest(address)
    assert (await asked(raw, route(1)))[0] == ResponseCode.SUCCESS
    change = {"namespace": "n", "key": "k", "value": "v"}
    put = RemotingCommand(RequestCode.PUT_KV_CONFIG, change, opaque=2)
    assert (await asked(raw, put))[0] == ResponseCode.SYSTEM_ERROR
    signed = RemotingCommand(RequestCode.PUT_KV_CONFIG, change, opaque=3)
    sign(signed, *KEYS)
    assert (await asked(raw, signed))[0] == ResponseCode.SUCCESS
    await raw.close()


async def test_who_lives_in_the_sandbox_is_not_asked(hall: Hall) -> None:
    await hall.wait(hall.port.set_keys(SLUG, KEYS))
    await hall.act("SendMessages", topic="orders", count=3)
    await hall.until(lambda snapshot: snapshot["topics"][0]["queues"][0]["max"] == "3")


async def test_keys_outlive_sleep_and_the_server_in_a_file_of_the_owner_alone(hall: Hall) -> None:
    await hall.wait(hall.port.set_keys(SLUG, KEYS))
    await asyncio.to_thread(hall.engine.stop)
    [path] = hall.home.rglob(FILE_NAME)
    assert path.stat().st_mode & 0o077 == 0
    hall.engine = Engine(hall.home, hall.config).start()
    await hall.wait(hall.port.wake(SLUG))
    raw = await guest(await hall.open())
    assert (await asked(raw, send(1)))[0] == ResponseCode.SYSTEM_ERROR
    await hall.wait(hall.port.set_keys(SLUG, None))
    assert (await asked(raw, send(2)))[0] == ResponseCode.SUCCESS
    await raw.close()


async def test_the_secret_is_on_no_board(hall: Hall) -> None:
    await hall.wait(hall.port.set_keys(SLUG, KEYS))
    shown: list[Any] = [await hall.connect(), await hall.snapshot()]
    assert shown[0]["listener"]["access_key"] == KEYS.access_key
    assert KEYS.secret_key not in repr(shown) + repr(KEYS)


async def test_keys_that_are_too_short_are_refused(hall: Hall) -> None:
    with pytest.raises(ActionRefused) as refused:
        await hall.wait(hall.port.set_keys(SLUG, Keys("otter-key", "short")))
    assert refused.value.status == 422
    assert (await hall.connect())["listener"]["access_key"] is None


async def test_an_address_other_machines_reach_opens_with_keys_alone_and_keeps_them_while_open(tmp_path: Path) -> None:
    hall = Hall(tmp_path, free_port(), node_host="0.0.0.0")
    try:
        await hall.create()
        with pytest.raises(ActionRefused, match="without authentication"):
            await hall.open()
        await hall.wait(hall.port.set_keys(SLUG, KEYS))
        await hall.open()
        with pytest.raises(ActionRefused, match="without authentication"):
            await hall.wait(hall.port.set_keys(SLUG, None))
        await hall.wait(hall.port.close_listener(SLUG))
        await hall.wait(hall.port.set_keys(SLUG, None))
    finally:
        await asyncio.to_thread(hall.engine.stop)
