"""A client in a process of its own meets a server's sandbox over real sockets."""

from tests.server.server import Server
from tests.unit.hosting.wire_client import abroad


def test_a_client_is_let_in_seen_cut_off_and_locked_out(server: Server) -> None:
    sandbox = server.create("empty")
    sandbox.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
    opened = sandbox.http.post("/listen", json={})
    assert opened.status_code == 200, opened.text
    with abroad(opened.json()["name_servers"], "orders", b"hello") as external:
        sandbox.wait_until(lambda seen: [group for group in seen["groups"] if group["members"]], what="it is a member")
        seen = sandbox.snapshot()
        [member] = next(group for group in seen["groups"] if group["group"] == "readers")["members"]
        assert (member["client_id"], member["transport"], member["buffered"]) == (external.client_id, "tcp", None)
        assert seen["rate_pinned"]
        seq = sandbox.act("CutConnection", client_id=external.client_id)
        sandbox.wait_for("ClientDisconnected", seq, client_id=external.client_id, reason="cut")
        assert sandbox.http.post("/unlisten", json={}).json()["open"] is False
        assert not sandbox.snapshot()["rate_pinned"]
