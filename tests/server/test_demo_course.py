"""The demo course on a real server: what a teacher finds a minute after the command was started."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import orjson
import pytest

from tests.server.server import ROOT, Server, environment, run, until

PASSWORD = "only-of-this-test"
STUDENTS = 6
WITHIN_S = 240.0  # other work may share the machine


@pytest.fixture
def class_of_six(own_server: Server, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "demo_course", "--students", str(STUDENTS), "--url", own_server.url],
            cwd=ROOT,
            text=True,
            stdout=said,
            stderr=said,
            env=environment(own_server.home) | {"QUEUEVIZ_DEMO_PASSWORD": PASSWORD},
        )
        yield process
        process.kill()
        process.wait()


def rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(home / "web.sqlite3", timeout=30)) as database:
        return database.execute(query).fetchall()


def same_answers(home: Path) -> int:
    """Return how often, at most, one student has given one answer to one step."""
    most = 0
    for journal in (home / "sandboxes").glob("*/journal"):
        lines = [line for path in journal.glob("*.ndjson") for line in path.read_bytes().splitlines()]
        given = [orjson.loads(line)["fields"] for line in lines if b'"AnswerStep"' in line and b'"say"' in line]
        most = max([most, *(given.count(one) for one in given)])
    return most


def test_six_students_come_and_each_has_a_state_of_its_own(
    own_server: Server, class_of_six: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    home = own_server.home

    def has(query: str) -> bool:
        assert class_of_six.poll() is None, (tmp_path / "said").read_text()
        return bool(rows(home, query))

    def until_there(query: str, what: str) -> None:
        until(lambda: has(query), within_s=WITHIN_S, what=what)

    until(lambda: "runs until" in (tmp_path / "said").read_text(), within_s=WITHIN_S, what="all have come")
    assert rows(home, "SELECT COUNT(*) FROM queueviz_enrolment") == [(STUDENTS,)]
    until_there("SELECT 1 FROM queueviz_enrolment WHERE question <> '' AND asks_since IS NOT NULL", "a hand is up")
    until_there("SELECT 1 FROM queueviz_submission WHERE finished_at IS NOT NULL", "one is done")
    seen = "SELECT MAX(julianday(seen_at)) AS newest, MIN(julianday(seen_at)) AS oldest FROM queueviz_enrolment"
    until_there(f"SELECT 1 FROM ({seen}) WHERE newest - oldest > 25 / 86400.0", "one is cut off, and others are there")
    until(lambda: same_answers(home) >= 3, within_s=WITHIN_S, what="one is stuck")
    class_of_six.send_signal(signal.SIGINT)
    assert class_of_six.wait(30) == 0
    said = (tmp_path / "said").read_text()
    assert "The class has ended." in said
    assert "Traceback" not in said
    assert PASSWORD not in said
    again = run("demo_course", "--students", "1", "--minutes", "0.01", "--url", own_server.url, home=home)
    assert again.returncode == 0, again.stderr
    [password] = [line.split()[1] for line in again.stdout.splitlines() if line.startswith("Password")]
    assert rows(home, "SELECT COUNT(*) FROM queueviz_course") == [(1,)], "the one before is gone"
    assert rows(home, "SELECT COUNT(*) FROM queueviz_enrolment") == [(1,)]
    assert signs_in(own_server, password)
    assert not signs_in(own_server, PASSWORD)


def signs_in(server: Server, password: str) -> bool:
    with httpx.Client(base_url=server.url, timeout=30) as browser:
        browser.get("/accounts/login/")
        answer = browser.post(
            "/accounts/login/",
            data={
                "username": "demo-teacher",
                "password": password,
                "csrfmiddlewaretoken": browser.cookies["csrftoken"],
            },
        )
        return answer.status_code == 302


def test_what_is_in_the_way_is_said_in_a_sentence(own_server: Server) -> None:
    home = own_server.home
    for arguments, said in (
        (("--url", "http://127.0.0.1:1"), "Start script/server first"),
        (("--students", "0"), "--students takes a number from 1 to 30."),
        (("--students", "31"), "--students takes a number from 1 to 30."),
        (("--minutes", "0"), "--minutes must be greater than 0."),
    ):
        refused = run("demo_course", *arguments, home=home)
        assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
        assert said in refused.stderr


def test_it_takes_no_administrator_s_account_and_no_other_server_s_course(own_server: Server, tmp_path: Path) -> None:
    variables = {
        "DJANGO_SUPERUSER_USERNAME": "demo-teacher",
        "DJANGO_SUPERUSER_EMAIL": "",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    }
    made = subprocess.run(
        [sys.executable, "manage.py", "createsuperuser", "--noinput"],
        cwd=ROOT,
        check=False,
        env=environment(own_server.home) | variables,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    refused = run("demo_course", "--url", own_server.url, home=own_server.home)
    assert "is an administrator of this server" in refused.stderr
    assert signs_in(own_server, PASSWORD), "it is as it was"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run("migrate", "-v0", home=elsewhere).returncode == 0
    refused = run("demo_course", "--url", own_server.url, home=elsewhere)
    assert "does not use the data home" in refused.stderr
    assert "Traceback" not in refused.stderr
