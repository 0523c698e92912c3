"""A class: every student has a sandbox `flights` and watches its board; how often each picture comes, what it costs.

    manage.py bench class --students 10,30,60 --rate 1,20 --cores 1,2 --engines 0,1 --json

A real server, pinned to as many cores as `--cores` says; real sockets, held by another process, which has the cores
that are left, or shares them.  Each student comes from a loopback address of its own, as limits are counted by address.
"""

import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from typing import Any, NamedTuple

import httpx
import orjson
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from tests.bench.calibration import calibrate
from tests.bench.served import address_of, cpu_s, served
from tests.server.server import ROOT, Server

TEMPLATE, GROUP, TOPIC = "flights", "gate-display", "flights"
STUDENTS = (10, 30, 60)
RATES = (1.0, 20.0)
WATCH_S = 10.0
ALONE_S = 5.0  # without viewers
SETTLE_S = 3.0  # after sandboxes were made, rates set or viewers came
ASK_EVERY_S = 0.25  # so that asking costs little beside the boards
ACK_EVERY_S = 0.25
PATIENCE_S = 60.0


class Student(NamedTuple):
    slug: str
    token: str
    address: str


class Gaps(NamedTuple):
    """Between the frames of one viewer."""

    frames: int
    p50_ms: float
    p99_ms: float


def run(
    students: tuple[int, ...] = STUDENTS,
    rates: tuple[float, ...] = RATES,
    cores: tuple[int, ...] = (),
    engines: tuple[int, ...] = (0,),
    *,
    watch_s: float = WATCH_S,
    alone_s: float = ALONE_S,
    settle_s: float = SETTLE_S,
) -> dict[str, Any]:
    """Measure by cores, engines, students and rate: see `_cell`.  `cores`: default all.  `engines`: processes
    beside the server's, 0 for a thread of it.
    """
    all_cores = sorted(os.sched_getaffinity(0))
    figures: dict[str, Any] = {"calibration_us": round(calibrate(), 3)}
    for count, processes in itertools.product(cores or (len(all_cores),), engines):
        mine = set(all_cores[:count])
        others = set(all_cores[count:]) or mine
        cells: dict[str, Any] = {"cores": len(mine)}
        with served(mine, processes) as server:
            there: list[Student] = []
            for number in sorted(students):
                there += [_made(server, n) for n in range(len(there), number)]
                for rate in rates:
                    _set_rate(server, there, rate)
                    time.sleep(settle_s)
                    cells[f"students_{number}_rate_{rate:g}"] = _cell(server, there, others, watch_s, alone_s, settle_s)
        figures[f"cores_{count}" + (f"_engines_{processes}" if processes else "")] = cells
    return figures


def _cell(
    server: Server, students: list[Student], cores: set[int], watch_s: float, alone_s: float, settle_s: float
) -> dict[str, Any]:
    """Frames and gaps of the median viewer, and of the worst; what the API takes; CPU in percent of a core."""
    with _tab(server, students[0]) as api:
        alone_before, began_s = cpu_s(server.pid), time.monotonic()
        time.sleep(alone_s)
        alone = (cpu_s(server.pid) - alone_before) / max(time.monotonic() - began_s, 0.001)
        command = [
            sys.executable,
            "-m",
            "tests.bench.classroom",
            server.url,
            str(settle_s),
            str(watch_s),
            *(f"{student.slug}={student.address}" for student in students),
        ]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as viewers:
            os.sched_setaffinity(viewers.pid, cores)
            assert viewers.stdout is not None
            if viewers.stdout.readline() != b"watching\n":
                raise RuntimeError("the viewers did not start")
            before, server_s, client_s = _clock(api, students[0]), cpu_s(server.pid), cpu_s(viewers.pid)
            began_s = time.monotonic()
            asked_ms = sorted(_asked_ms(api, students, watch_s))
            after, load, passed_s = _clock(api, students[0]), os.getloadavg()[0], time.monotonic() - began_s
            server_s, client_s = cpu_s(server.pid) - server_s, cpu_s(viewers.pid) - client_s
            gaps = [Gaps(*row) for row in orjson.loads(viewers.stdout.read())]
    per_s = sorted(gap.frames / watch_s for gap in gaps)
    return {
        "frames_per_s": round(per_s[len(per_s) // 2], 1),
        "frames_per_s_least": round(per_s[0], 1),
        "gap_p50_ms": _part([gap.p50_ms for gap in gaps], 0.5),
        "gap_p99_ms": _part([gap.p99_ms for gap in gaps], 0.5),
        "gap_p99_ms_worst": _part([gap.p99_ms for gap in gaps], 1.0),
        "api_p50_ms": _part(asked_ms, 0.5),
        "api_p99_ms": _part(asked_ms, 0.99),
        "real_rate": round((after["at_ms"] - before["at_ms"]) / 1000 / passed_s, 2),
        "server_cpu_percent": round(server_s / passed_s * 100, 1),
        "client_cpu_percent": round(client_s / passed_s * 100, 1),
        "watched_cpu_percent_each": round(server_s / passed_s * 100 / len(students), 2),
        "unwatched_cpu_percent_each": round(alone * 100 / len(students), 2) if alone_s else None,
        "load": round(load, 1),
    }


def _part(values: list[float], part: float) -> float:
    return round(sorted(values)[min(len(values) - 1, int(len(values) * part))], 1)


def _tab(server: Server, student: Student | str) -> httpx.Client:
    address = student if isinstance(student, str) else student.address
    return httpx.Client(base_url=server.url, timeout=PATIENCE_S, transport=httpx.HTTPTransport(local_address=address))


def _made(server: Server, number: int) -> Student:
    address = address_of(number)
    with _tab(server, address) as api:
        made = api.post("/api/sandboxes", json={"template": TEMPLATE}).raise_for_status().json()
    return Student(made["slug"], made["token"], address)


def _set_rate(server: Server, students: list[Student], rate: float) -> None:
    for student in students:
        with _tab(server, student) as api:
            api.post(
                f"/api/sandboxes/{student.slug}/actions",
                json={"action": "SetRate", "rate": rate},
                headers={"Authorization": f"Bearer {student.token}"},
            ).raise_for_status()


def _clock(api: httpx.Client, student: Student) -> dict[str, Any]:
    return api.get(f"/api/sandboxes/{student.slug}").raise_for_status().json()  # type: ignore[no-any-return]


def _asked_ms(api: httpx.Client, students: list[Student], watch_s: float) -> list[float]:
    """One whole sandbox after the other."""
    found: list[float] = []
    until_s = time.monotonic() + watch_s
    for student in itertools.cycle(students):
        began_s = time.monotonic()
        _clock(api, student)
        found.append((time.monotonic() - began_s) * 1000)
        if began_s + ASK_EVERY_S >= until_s:
            return found
        time.sleep(max(0.0, began_s + ASK_EVERY_S - time.monotonic()))
    return found


# The viewers: a process of their own.


async def _watch_all(url: str, settle_s: float, watch_s: float, students: list[str]) -> list[Gaps]:
    entered = asyncio.Barrier(len(students) + 1)
    began = asyncio.Event()
    tabs = [asyncio.create_task(_watch(url, *student.split("="), entered, began, watch_s)) for student in students]
    await entered.wait()
    await asyncio.sleep(settle_s)
    print("watching", flush=True)
    began.set()
    return await asyncio.gather(*tabs)


async def _watch(
    url: str, slug: str, address: str, entered: asyncio.Barrier, began: asyncio.Event, watch_s: float
) -> Gaps:
    """A tab that paints nothing: it notes when frames came, and acknowledges."""
    board, at_s, newest = f"board/{slug}/{GROUP}/{TOPIC}", [0.0], "0"
    async with connect(
        url,
        subprotocols=[Subprotocol("queueviz.live.1")],
        compression=None,
        proxy=None,
        open_timeout=PATIENCE_S,
        local_addr=(address, 0),
    ) as tab:
        await tab.send(orjson.dumps({"k": "sub", "ch": board}).decode())

        async def take() -> None:
            nonlocal newest
            acked_s = 0.0
            async for text in tab:
                assert isinstance(text, str)
                _, found, rest = text[:200].partition('"n":')
                if not found:
                    assert '"end"' not in text[:20], text
                    continue
                newest, now_s = rest.partition(",")[0], time.monotonic()
                at_s.append(now_s)
                if now_s - acked_s >= ACK_EVERY_S:
                    acked_s = now_s
                    await tab.send(f'{{"k":"ack","n":{{"{board}":{newest}}}}}')

        taking = asyncio.create_task(take())
        await entered.wait()
        await began.wait()
        from_s = time.monotonic()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(taking, watch_s)
    return gaps_between([at for at in at_s if at >= from_s], watch_s * 1000)


def gaps_between(at_s: list[float], watched_ms: float) -> Gaps:
    """A board that did not move was one gap."""
    gaps = sorted((after - before) * 1000 for before, after in itertools.pairwise(at_s)) or [watched_ms]
    return Gaps(len(at_s), _part(gaps, 0.5), _part(gaps, 0.99))


if __name__ == "__main__":
    _url, _settle, _watched, *_students = sys.argv[1:]
    _socket = _url.replace("http", "ws") + "/ws/live/"
    print(json.dumps(asyncio.run(_watch_all(_socket, float(_settle), float(_watched), _students))))
