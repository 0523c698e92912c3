"""Attaching in the admin: what may be written, what the engine hears, and the audit that no one edits."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client

from queueviz.clusters import attached_clusters, cluster_fields
from queueviz.models import AuditRecord, Cluster
from queueviz.pages import accounts
from sandbox.attached.settings import AttachedSettings
from sandbox.kernel.errors import ActionRefused
from tests.web.clusters import SLUG, account, browser_of, cluster
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db

FORM = {
    "name": "prod",
    "title": "Production",
    "name_servers": "10.0.0.1:9876",
    "audience": "everyone",
    "access_key": "",
    "secret_variable": "",
}


@pytest.fixture
def admin(port: FakePort) -> Client:
    return browser_of(account("root", is_staff=True, is_superuser=True))


def complaint(client: Client, **fields: Any) -> str:
    answer = client.post("/admin/queueviz/cluster/add/", {**FORM, **fields})
    assert answer.status_code == 200, "it was taken"
    return " ".join(str(said) for field in answer.context["errors"] for said in field)


@pytest.mark.parametrize("servers", ["10.0.0.1:9876", "ns-1.example.org:9876; ns_2:9876", "[::1]:9876\n10.0.0.1:1"])
def test_addresses_of_name_servers(servers: str) -> None:
    cluster_fields.are_addresses(servers)
    assert all(":" in address for address in cluster_fields.addresses_in(servers))


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ("", "at least one"),
        (";;", "at least one"),
        ("10.0.0.1", "no port"),
        (":9876", "no port"),
        ("10.0.0.1:0", "is not a port. Use a number"),
        ("10.0.0.1:65536", "is not a port. Use a number"),
        ("10.0.0.1:x", "is not a port. Use a number"),
        ("300.0.0.1:9876", "is not a host name"),
        ("http://ns:9876", "is not a host name"),
        ("-ns:9876", "is not a host name"),
        ("ns:9876;ns:9876", "twice"),
        (";".join(f"ns-{n}:1" for n in range(9)), "At most 8"),
    ],
)
def test_what_is_no_address_is_said(servers: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        cluster_fields.are_addresses(servers)


def test_an_administrator_attaches_a_cluster(admin: Client) -> None:
    assert admin.post("/admin/queueviz/cluster/add/", FORM).status_code == 302
    made = Cluster.objects.get()
    assert (made.slug, made.label, made.addresses) == (SLUG, "Production", ("10.0.0.1:9876",))
    assert admin.get(made.get_absolute_url()).status_code == 200


def test_the_form_says_what_is_wrong(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUEUEVIZ_ACL_PROD", raising=False)
    assert "lower case" in complaint(admin, name="Prod!")
    assert "no port" in complaint(admin, name_servers="10.0.0.1")
    assert "Set the access key and its secret key variable together" in complaint(admin, access_key="ak")
    assert "not the secret itself" in complaint(admin, access_key="ak", secret_variable="hunter2")
    assert "not the secret itself" in complaint(admin, access_key="ak", secret_variable="QUEUEVIZ_SECRET_KEY")
    assert "without this variable" in complaint(admin, access_key="ak", secret_variable="QUEUEVIZ_ACL_PROD")
    assert not Cluster.objects.exists()


def test_the_secret_comes_from_the_environment_and_is_never_stored(
    admin: Client, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEVIZ_ACL_PROD", "hush-hush")
    fields = {**FORM, "access_key": "ak", "secret_variable": "QUEUEVIZ_ACL_PROD"}
    assert admin.post("/admin/queueviz/cluster/add/", fields).status_code == 302
    pages = [admin.get(address).content for address in ("/admin/queueviz/cluster/", "/k/prod/", "/k/prod/journal/")]
    assert port.attached[SLUG] == AttachedSettings(("10.0.0.1:9876",), "ak", "hush-hush", tls=False)
    assert "hush-hush" not in repr(Cluster.objects.values()) + repr(port.attached[SLUG])
    assert not any(b"hush-hush" in page for page in pages)


def test_a_secret_that_is_gone_is_a_sentence_on_the_page(port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUEVIZ_ACL_PROD", "hush-hush")
    row = cluster(audience="everyone", access_key="ak", secret_variable="QUEUEVIZ_ACL_PROD")
    monkeypatch.delenv("QUEUEVIZ_ACL_PROD")
    with pytest.raises(ActionRefused, match="QUEUEVIZ_ACL_PROD"):
        attached_clusters.settings_of(row)
    answer = Client().get("/k/prod/")
    assert answer.status_code == 409
    assert b"QUEUEVIZ_ACL_PROD is not set" in answer.content


def test_the_engine_is_notified_with_each_visit_and_when_something_changes(
    port: FakePort, django_capture_on_commit_callbacks: Any
) -> None:
    row = cluster(audience="everyone")
    assert port.attached == {}, "nobody has looked yet"
    for _ in range(3):
        assert Client().get("/k/prod/").status_code == 200
    assert port.attach_count == 3, "where nobody has looked for a while it asks first"
    with django_capture_on_commit_callbacks(execute=True):
        row.title = "Other"
        row.save()
    assert port.attach_count == 3, "its name is no business of the engine's"
    with django_capture_on_commit_callbacks(execute=True):
        row.name_servers = "10.0.0.7:9876"
        row.save()
    assert port.attached[SLUG].name_servers == ("10.0.0.7:9876",)
    with django_capture_on_commit_callbacks(execute=True):
        row.delete()
    assert port.attached == {}
    assert Client().get("/k/prod/").status_code == 404


def test_a_change_made_by_another_process_is_noticed_with_the_next_visit(port: FakePort) -> None:
    cluster(audience="everyone")
    Client().get("/k/prod/")
    Cluster.objects.update(name_servers="10.0.0.7:9876")  # no signal
    Client().get("/k/prod/part/rail/")
    assert port.attached[SLUG].name_servers == ("10.0.0.7:9876",)


def test_a_cluster_that_could_not_be_attached_is_tried_again(port: FakePort) -> None:
    cluster(audience="everyone")
    port.refuse["attach"] = ActionRefused(429, "Too many clusters are attached.")
    assert Client().get("/k/prod/").status_code == 429
    assert Client().get("/k/prod/").status_code == 200


def test_a_cluster_that_takes_long_to_answer_is_shown_all_the_same(
    port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(audience="everyone")
    monkeypatch.setattr(attached_clusters.demand, "__kwdefaults__", {"patience_s": 0.01})
    port.silent.add("attach")
    port.attached[SLUG] = None  # the engine knows it from the first moment on
    assert Client().get("/k/prod/").status_code == 200


def test_its_address_stays(admin: Client) -> None:
    row = cluster()
    page = admin.get(f"/admin/queueviz/cluster/{row.pk}/change/").content.decode()
    assert 'name="name"' not in page
    assert 'name="name_servers"' in page


def test_the_audit_is_only_read(admin: Client) -> None:
    record = AuditRecord.objects.create(slug=SLUG, what="reset", who="ada", details={"plan": {"group": "g"}})
    assert b"k.prod" in admin.get("/admin/queueviz/auditrecord/").content
    address = f"/admin/queueviz/auditrecord/{record.pk}"
    assert admin.get(f"{address}/change/").status_code == 200
    assert admin.post(f"{address}/change/", {"what": "nothing"}).status_code == 403
    assert admin.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    assert admin.get("/admin/queueviz/auditrecord/add/").status_code == 403
    assert AuditRecord.objects.get().what == "reset"


def test_an_account_signs_in_and_out_and_ten_attempts_are_enough(port: FakePort, settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real one takes its time
    accounts.ATTEMPTS.forget()
    User.objects.create_user("ada", password="lovelace")
    client = Client()
    assert client.get("/accounts/login/").status_code == 200
    answer = client.post("/accounts/login/", {"username": "ada", "password": "lovelace", "next": "/k/prod/"})
    assert (answer.status_code, answer["Location"]) == (302, "/k/prod/")
    assert client.post("/accounts/logout/").status_code == 302
    there = client.post("/accounts/login/", {"username": "ada", "password": "lovelace", "next": "//evil.example/"})
    assert there["Location"] == "/", "nobody is led elsewhere"
    wrong = [Client().post("/accounts/login/", {"username": "nobody", "password": "x"}).status_code for _ in range(9)]
    assert wrong[-1] == 429
    assert wrong[0] == 200
