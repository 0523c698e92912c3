"""Someone starts the server for the first time, opens the first page and presses the one button."""

import re

import httpx

from tests.server.server import Driver, Server, committed, run, stored, until


def test_the_first_page_and_its_one_click_make_a_sandbox_with_traffic(server: Server) -> None:
    with server.browser() as visitor:
        landing = visitor.get("/")
        assert landing.status_code == 200
        button = re.search(r'<button class="go" name="template" value="(\w+)"', landing.text)
        assert button is not None, "one button starts a sandbox"
        form = {"csrfmiddlewaretoken": visitor.cookies["csrftoken"], "template": button[1]}
        made = visitor.post("/new/", data=form)
        assert made.status_code == 302
        page = visitor.get(made.headers["Location"])
        assert page.status_code == 200
        assert page.text.count('role="img"') > 0, "the first paint holds the strips already"
        slug = made.headers["Location"].split("/")[2]

        def flows() -> bool:
            seen = visitor.get(f"/api/sandboxes/{slug}").json()
            groups = [group["group"] for group in seen["groups"]]
            assert seen["sandbox"]["template"] == "flights"
            return stored(seen, "flights") > 0 and all(sum(committed(seen, name).values()) > 0 for name in groups)

        until(flows, what="flights are stored and consumed by both groups")


def test_health_is_reported_to_supervisors(server: Server) -> None:
    def calm() -> httpx.Response | None:
        found = httpx.get(f"{server.url}/healthz")
        return None if found.json()["status"] == "busy" else found

    said = until(calm, what="the server is no longer busy with its start")
    assert said is not None
    assert said.status_code == 200
    assert (said.json()["status"], said.json()["database"], said.json()["engine"]) == ("ok", "ok", "ok")
    assert httpx.get(f"{server.url}/healthz/live").status_code == 200


def test_the_landing_s_own_sandbox_moves_for_a_visitor_without_rights(server: Server) -> None:
    with server.browser() as anonymous:
        assert anonymous.get("/").status_code == 200
        until(lambda: stored(anonymous.get("/api/sandboxes/landing").json(), "flights") > 0, what="the landing flies")
        assert anonymous.get("/s/landing/").status_code == 200
        refused = anonymous.post(
            "/api/sandboxes/landing/actions",
            json={"action": "SetRate", "rate": 0},
            headers={"X-CSRFToken": anonymous.cookies["csrftoken"]},
        )
        assert refused.status_code == 403
        assert "your own" in refused.json()["error"]


def test_a_script_says_who_is_there(server: Server, orders: Driver) -> None:
    listed = run("sandboxes", "list", home=server.home)
    assert listed.returncode == 0, listed.stderr
    assert "orders" in listed.stdout
