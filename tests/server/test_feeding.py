"""`manage.py feed` as a person types it, into a running sandbox and into a store no one holds."""

from pathlib import Path

import orjson

from tests.server.server import Driver, Server, queues_of, run, stored


def to(sandbox: Driver) -> tuple[str, ...]:
    return ("--sandbox", sandbox.slug, "--url", sandbox.server.url, "--token", sandbox.token)


def rows_of(sandbox: Driver, topic: str) -> list[dict]:  # type: ignore[type-arg]
    """Every message of a topic, by the cursor of `find-messages`."""
    found: list[dict] = []  # type: ignore[type-arg]
    cursor = None
    while True:
        answer = sandbox.ask("find-messages", topic=topic, **({"cursor": cursor} if cursor else {}))
        assert answer.status_code == 200, answer.text
        found += answer.json()["rows"]
        cursor = answer.json()["cursor"]
        if cursor is None:
            return found


def test_flights_go_into_a_running_sandbox(server: Server, workshop: Driver) -> None:
    workshop.act("CreateTopic", topic="departures", write_queues=8, read_queues=8)
    said = run(
        "feed",
        "flights",
        "--limit",
        "1200",
        "--speed",
        "100000",
        "--topic",
        "departures",
        *to(workshop),
        home=server.home,
    )
    assert said.returncode == 0, said.stderr
    assert "1200 messages sent to departures." in said.stdout
    assert stored(workshop.snapshot(), "departures") == 1_200
    rows = rows_of(workshop, "departures")
    places: dict[str, set[int]] = {}
    for row in rows:
        places.setdefault(row["keys"], set()).add(row["queue_id"])
    assert len(rows) == 1_200
    assert all(len(queues) == 1 for queues in places.values()), "equal keys stay in one queue"


def test_a_csv_file_goes_into_a_running_sandbox(server: Server, workshop: Driver, tmp_path: Path) -> None:
    table = tmp_path / "orders.csv"
    lines = [f"c{n % 7},{'paid' if n % 2 else 'new'},2024-01-01T00:00:{n % 60:02},{'é' * 9}" for n in range(90)]
    table.write_text("customer,state,at,note\n" + "\n".join(lines) + "\n", "utf-8")
    workshop.act("CreateTopic", topic="sales", write_queues=4, read_queues=4)
    said = run(
        "feed",
        "csv",
        table,
        "--key",
        "customer",
        "--tag",
        "state",
        "--time",
        "at",
        "--speed",
        "1000",
        "--topic",
        "sales",
        *to(workshop),
        home=server.home,
    )
    assert said.returncode == 0, said.stderr
    rows = rows_of(workshop, "sales")
    assert sorted(row["keys"] for row in rows) == sorted(f"c{n % 7}" for n in range(90))
    assert {row["tags"] for row in rows} == {"paid", "new"}
    entry = workshop.ask("read-record", broker="broker-a", physical_offset=rows[0]["physical_offset"]).json()
    assert orjson.loads(entry["message"]["body"])["note"] == "é" * 9


def test_json_lines_with_long_bodies_go_into_a_running_sandbox(
    server: Server, workshop: Driver, tmp_path: Path
) -> None:
    file = tmp_path / "long.ndjson"
    file.write_bytes(b"".join(orjson.dumps({"id": f"k{n}", "text": '"' * 20_000}) + b"\n" for n in range(60)))
    said = run(
        "feed", "ndjson", file, "--key", "id", "--speed", "0.5", "--topic", "letters", *to(workshop), home=server.home
    )
    assert said.returncode == 0, said.stderr
    rows = rows_of(workshop, "letters")
    assert sorted(row["keys"] for row in rows) == sorted(f"k{n}" for n in range(60))
    longest = workshop.ask("read-record", broker="broker-a", physical_offset=rows[0]["physical_offset"]).json()
    assert longest["message"]["body_bytes"] > 40_000


def test_the_token_may_stand_in_the_environment_and_a_sleeping_sandbox_is_woken(
    server: Server, workshop: Driver, tmp_path: Path
) -> None:
    file = tmp_path / "few.ndjson"
    file.write_text('{"id": "a"}\n\n{"id": "b"}\n')
    before = stored(workshop.snapshot(), "few")
    assert workshop.http.post("/sleep", json={}).status_code == 200
    said = run("feed", "ndjson", file, "--key", "id", "--topic", "few", *to(workshop), home=server.home)
    assert said.returncode == 0, said.stderr
    assert stored(workshop.snapshot(), "few") == before + 2


def test_a_store_directory_is_fed_and_verified(server: Server, tmp_path: Path) -> None:
    store = tmp_path / "store"
    said = run("feed", "flights", "--store", store, "--limit", "5000", "--queues", "4", home=server.home)
    assert said.returncode == 0, said.stderr
    assert "5000 messages sent to flights." in said.stdout
    sound = run("mqstore", "verify", store, home=server.home)
    assert sound.returncode == 0, sound.stdout + sound.stderr
    assert sound.stdout.rstrip().endswith("sound")
    assert "5000 records" in sound.stdout
    summary = run("mqstore", "summary", store, "--json", home=server.home)
    row = orjson.loads(summary.stdout)
    assert (row["messages"], row["abort"], row["topics"]) == (5_000, False, ["flights"])
    again = run("feed", "flights", "--store", store, "--limit", "100", "--queues", "4", home=server.home)
    assert again.returncode == 0, again.stderr
    assert run("mqstore", "verify", store, home=server.home).returncode == 0
    queues = [
        orjson.loads(line) for line in run("mqstore", "queues", store, "--json", home=server.home).stdout.splitlines()
    ]
    assert sum(int(queue["maxOffset"]) for queue in queues) == 5_100


def test_the_store_of_a_sandbox_is_sound_while_it_runs_and_when_it_sleeps(server: Server, orders: Driver) -> None:
    assert queues_of(orders.snapshot(), "orders")
    for broker in ("broker-a", "broker-b"):
        store = server.home / "sandboxes" / orders.slug / broker
        running = run("mqstore", "verify", store, home=server.home)
        assert running.returncode == 0, running.stdout
    assert orders.http.post("/sleep", json={}).status_code == 200
    try:
        for broker in ("broker-a", "broker-b"):
            store = server.home / "sandboxes" / orders.slug / broker
            asleep = run("mqstore", "verify", store, home=server.home)
            assert asleep.returncode == 0, asleep.stdout
            assert "closed        yes" in run("mqstore", "summary", store, home=server.home).stdout
    finally:
        orders.wake()
