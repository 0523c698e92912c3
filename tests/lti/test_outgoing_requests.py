"""Requests to platforms reach public servers alone, and end."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

from queueviz.lti import outgoing
from queueviz.lti.outgoing import AddressRefused, AnswerRefused, Outgoing


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        if self.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "/secret")
            self.end_headers()
            return
        body = b"x" * (outgoing.MOST_BYTES + 1) if self.path == "/long" else b'{"here": 1}'
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Any]:
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    made.asked = []
    made.daemon_threads = True
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def address(server: Any, settings: Any) -> str:
    """An address of a server on this machine that the settings name; without them no request is sent."""
    settings.QUEUEVIZ_LTI_PRIVATE_HOSTS = ["localhost"]
    return f"http://localhost:{server.server_port}"


def test_a_host_of_the_platform_is_asked_and_another_is_not(address: str, server: Any) -> None:
    assert Outgoing({"localhost"}).get(f"{address}/").json() == {"here": 1}
    with pytest.raises(AddressRefused):
        Outgoing({"other.example"}).get(f"{address}/")
    assert server.asked == ["/"]


def test_a_redirect_is_not_followed(address: str, server: Any) -> None:
    with pytest.raises(AnswerRefused):
        Outgoing({"localhost"}).get(f"{address}/redirect")
    assert server.asked == ["/redirect"]


def test_a_long_answer_is_not_read_to_its_end(address: str) -> None:
    with pytest.raises(AnswerRefused):
        Outgoing({"localhost"}).get(f"{address}/long")


def test_a_slow_answer_ends(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "WHOLE_S", -1.0)
    with pytest.raises(AnswerRefused):
        Outgoing({"localhost"}).get(f"{address}/")


def test_plain_http_is_for_this_machine_where_the_settings_say_so(server: Any, settings: Any) -> None:
    settings.QUEUEVIZ_LTI_PRIVATE_HOSTS = ["lms.example"]
    for url in (
        f"http://localhost:{server.server_port}/",
        f"http://127.0.0.1:{server.server_port}/",
        "http://lms.example/",
    ):
        with pytest.raises(AddressRefused):
            Outgoing({"localhost", "127.0.0.1", "lms.example"}).get(url)
    assert not server.asked


@pytest.mark.parametrize(
    "found",
    [
        "127.0.0.1",
        "10.0.0.7",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "fe80::1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
    ],
)
def test_a_name_of_a_private_address_is_not_connected_to(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolves(monkeypatch, ["93.184.215.14"], [found], ["93.184.215.14", found])
    assert outgoing.public_address("lms.example") == "93.184.215.14"
    for _ in range(2):
        with pytest.raises(AddressRefused):
            outgoing.public_address("lms.example")


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name whose next answer is another address has no second chance."""
    resolves(monkeypatch, ["93.184.215.14"], ["127.0.0.1"])
    connected: list[Any] = []

    def connect(address: Any, *given: Any, **named: Any) -> Any:
        connected.append(address)
        raise OSError("far enough")

    monkeypatch.setattr("urllib3.util.connection.create_connection", connect)
    with pytest.raises(requests.exceptions.ConnectionError):
        Outgoing({"lms.example"}).get("https://lms.example/")
    assert connected == [("93.184.215.14", 443)]


def resolves(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    given = iter(answers)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: [(2, 1, 6, "", (one, 443)) for one in next(given)])
