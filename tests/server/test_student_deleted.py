"""Deletion of a student, proven: the whole database and every file of the data home, searched before and after."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from queueviz.operations.remote_pages import RemotePages
from tests.server.server import Server, run, until

LAB = "members-and-queues"
GIVEN = {"Quokka": "471108150", "Lynx": "114720091"}  # predictions that no one else gives, and no offset reaches
ASKED = {"Quokka": "Is the fourth one idle for good", "Lynx": "What is a heartbeat"}
ACCOUNT = {
    "DJANGO_SUPERUSER_USERNAME": "teacher",
    "DJANGO_SUPERUSER_EMAIL": "",
    "DJANGO_SUPERUSER_PASSWORD": "only-of-this-test",
}


class Student(NamedTuple):
    pages: RemotePages
    pseudonym: str
    slug: str  # of the sandbox
    branch: str
    marks: dict[str, str]  # what of this student is looked for: what it is → its text


class Lesson(NamedTuple):
    server: Server
    course: str
    students: dict[str, Student]


@pytest.fixture
def lesson(own_home: Callable[[], Path]) -> Iterator[Lesson]:
    """A teacher and two students, each with a lab, an answer, a hand, a recording and a branch."""
    server = Server(own_home()).start()
    opened: list[RemotePages] = []

    def browser() -> RemotePages:
        opened.append(RemotePages(server.url))
        return opened[-1]

    try:
        yield _taught(server, browser)
    finally:
        for each in opened:
            each.close()
        server.end()
    assert "Traceback" not in server.log


def _taught(server: Server, browser: Callable[[], RemotePages]) -> Lesson:
    with pytest.MonkeyPatch.context() as patched:
        for name, value in ACCOUNT.items():
            patched.setenv(name, value)
        made = run("createsuperuser", "--noinput", home=server.home)
    assert made.returncode == 0, made.stderr
    teacher = browser()
    teacher.post("/accounts/login/", {"username": "teacher", "password": ACCOUNT["DJANGO_SUPERUSER_PASSWORD"]})
    course = teacher.post("/c/new/", {"title": "101", "labs": LAB}).headers["Location"].split("/")[2]
    [code] = re.findall(r'joincode">([A-Z]{6})', teacher.get(f"/c/{course}/").text)
    return Lesson(server, course, {name: _student(server, browser(), teacher, course, code, name) for name in GIVEN})


def _student(server: Server, pages: RemotePages, teacher: RemotePages, course: str, code: str, name: str) -> Student:
    pages.post("/join/", {"code": code, "pseudonym": name})
    slug = pages.post(f"/c/{course}/labs/{LAB}/").headers["Location"].split("/")[2]
    pages.post(f"/c/{course}/hand/", {"do": "up", "question": ASKED[name]})
    pages.post(f"/s/{slug}/labs/{LAB}/", {"action": "AnswerStep", "step": "1", "part": "predict", "value": GIVEN[name]})
    branch = until(lambda: _branched(teacher, slug), what="a branch is made")
    _plant(server.home, course, slug)
    until(lambda: (server.home / "sandboxes" / branch / "journal").is_dir(), what="the branch has a journal")
    with closing(_database(server.home)) as database:
        [(digest,)] = database.execute("SELECT digest FROM queueviz_enrolment WHERE pseudonym = ?", [name]).fetchall()
    return Student(
        pages,
        name,
        slug,
        branch,
        {
            "pseudonym": name,
            "digest": digest,
            "sandbox": slug,
            "branch": branch,
            "answer": f'"{GIVEN[name]}"',
            "question": ASKED[name],
        },
    )


def _plant(home: Path, course: str, slug: str) -> None:
    """Write the files that the pipeline and recordings leave for a sandbox and its course, without Spark."""
    for path in (
        f"recordings/{slug}/0-9-1.qvr",
        f"pipeline/latency/{slug}/manifest.json",
        f"pipeline/grading/{course}/scores.csv",
        f"pipeline/.spark/{slug[:4]}.log",
    ):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        with (home / path).open("a") as file:
            file.write(f"{home}/sandboxes/{slug}\n")


def _branched(pages: RemotePages, slug: str) -> str:
    newest = orjson.loads(pages.get(f"/api/sandboxes/{slug}/events?most=1000000").content.splitlines()[-1])["seq"]
    return str(pages.post(f"/s/{slug}/branch/", {"at": newest}).headers["Location"].split("/")[2])


def _database(home: Path) -> sqlite3.Connection:
    return sqlite3.connect(home / "web.sqlite3", timeout=30)


def rows_with(home: Path, text: str) -> list[str]:
    """`table.column` of every value of every table in which the text stands."""
    found = []
    with closing(_database(home)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for column in [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]:
                query = f'SELECT COUNT(*) FROM "{table}" WHERE instr(CAST("{column}" AS TEXT), ?)'
                if database.execute(query, [text]).fetchone()[0]:
                    found.append(f"{table}.{column}")
    return found


def files_with(home: Path, text: str) -> list[str]:
    """Every file in whose name or bytes the text stands, the database's own among them."""
    return sorted(
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and (text in str(path.relative_to(home)) or text.encode() in path.read_bytes())
    )


def seats_in(home: Path) -> int:
    """Sessions that have a place in a course: they are packed, so that no search finds what is in them."""
    script = (
        "from django.contrib.sessions.models import Session;"
        "print(sum(len(row.get_decoded().get('seats', {})) for row in Session.objects.all()))"
    )
    counted = run("shell", "-c", script, home=home)
    return int(counted.stdout.split()[-1])


def assert_all_there(lesson: Lesson, name: str) -> None:
    home = lesson.server.home
    for what, text in lesson.students[name].marks.items():
        assert files_with(home, text), f"the search finds the {what} of {name} before"
    assert {"queueviz_enrolment.pseudonym", "queueviz_sandbox.name"} <= set(rows_with(home, name))
    assert "queueviz_grant.holder" in rows_with(home, lesson.students[name].marks["digest"])


def assert_none_left(lesson: Lesson, name: str) -> None:
    home = lesson.server.home
    for what, text in lesson.students[name].marks.items():
        assert rows_with(home, text) == [], f"{what} of {name}"
        assert files_with(home, text) == [], f"{what} of {name}"


def test_who_leaves_by_the_page_is_nowhere_in_database_or_files(lesson: Lesson) -> None:
    assert_all_there(lesson, "Quokka")
    assert seats_in(lesson.server.home) == 2
    lesson.students["Quokka"].pages.post(f"/c/{lesson.course}/data/", {"confirm": "delete"})
    assert_none_left(lesson, "Quokka")
    assert_all_there(lesson, "Lynx")
    assert seats_in(lesson.server.home) == 1


def test_the_command_deletes_through_the_server_that_runs(lesson: Lesson) -> None:
    home = lesson.server.home
    done = run("student", "delete", lesson.course, "Lynx", "--url", lesson.server.url, home=home)
    assert (done.returncode, done.stdout) == (0, "Lynx is deleted.\n"), done.stderr
    assert_none_left(lesson, "Lynx")
    assert_all_there(lesson, "Quokka")


def test_the_command_exports_and_deletes_where_no_server_runs(lesson: Lesson, tmp_path: Path) -> None:
    home, quokka = lesson.server.home, lesson.students["Quokka"]
    lesson.server.stop()
    to = tmp_path / "export"
    exported = run("student", "export", lesson.course, "Quokka", "--to", str(to), home=home)
    assert exported.returncode == 0, exported.stderr
    for text in quokka.marks.values():
        assert files_with(to, text), "nothing that is deleted was left out"
    attempts = orjson.loads((to / "sandboxes" / quokka.slug / "attempts.json").read_bytes())
    assert [(one["lab"], [receipt["part"] for receipt in one["receipts"]]) for one in attempts] == [(LAB, ["predict"])]
    done = run("student", "delete", lesson.course, "Quokka", home=home)
    assert (done.returncode, done.stdout) == (0, "Quokka is deleted with 2 sandboxes.\n"), done.stderr
    assert_none_left(lesson, "Quokka")
    assert_all_there(lesson, "Lynx")


def test_the_command_says_what_is_not_there(lesson: Lesson, tmp_path: Path) -> None:
    home = lesson.server.home
    listed = run("student", "list", lesson.course, home=home)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["Quokka", "Lynx"]
    (tmp_path / "x").write_text("x")
    for arguments, said in (
        (("list", "nowhere"), "No course nowhere"),
        (("delete", lesson.course, "Nobody"), "No student of this course has the pseudonym Nobody"),
        (("export", lesson.course, "Lynx", "--to", str(tmp_path)), "is not empty"),
        (("delete", lesson.course, "Lynx", "--url", "http://127.0.0.1:1"), "No server answers at http://127.0.0.1:1"),
    ):
        refused = run("student", *arguments, home=home)
        assert refused.returncode == 1
        assert said in refused.stderr
        assert "Traceback" not in refused.stderr
