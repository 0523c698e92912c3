"""QueueViz clients sign requests to brokers that require keys: accounts of 4.9 and users of 5.x."""

import json
from collections.abc import Iterator

import pytest

from sandbox import Message, connect
from sandbox.kernel.errors import BrokerRefused, SandboxError
from tests.interop.clients import Unavailable
from tests.interop.ours.stage import FIRST, QUICK, Seen
from tests.interop.servers import APACHE_4, APACHE_5, Server, apache_server

HOST = ("the-host-key", "the-hosts-secret")
ACCOUNTS = f"accounts:\n- accessKey: {HOST[0]}\n  secretKey: {HOST[1]}\n  admin: true\n"
AUTH = "org.apache.rocketmq.auth.authentication.provider."
SETTINGS = {
    APACHE_4: {"aclEnable": "true"},
    APACHE_5: {
        "authenticationEnabled": "true",
        "authenticationProvider": AUTH + "DefaultAuthenticationProvider",
        "authenticationMetadataProvider": AUTH + "LocalAuthenticationMetadataProvider",
        "initAuthenticationUser": json.dumps({"username": HOST[0], "password": HOST[1]}),
        "innerClientAuthenticationCredentials": json.dumps({"accessKey": HOST[0], "secretKey": HOST[1]}),
    },
}
REFUSAL = {APACHE_4: 1, APACHE_5: 16}


@pytest.fixture(scope="module", params=[APACHE_4, APACHE_5], ids="apache-{}".format)
def guarded(request: pytest.FixtureRequest) -> Iterator[Server]:
    try:
        with apache_server(request.param, properties={**QUICK, **SETTINGS[request.param]}, accounts=ACCOUNTS) as made:
            yield made
    except Unavailable as why:
        pytest.skip(f"apache-{request.param}: {why}")


@pytest.mark.apache
def test_who_signs_sends_consumes_and_administers(guarded: Server) -> None:
    with connect(guarded.namesrv, access_key=HOST[0], secret_key=HOST[1]) as cluster:
        admin = cluster.admin
        admin.topics.create(guarded.broker, "signed", queues=1)
        cluster.producer("our-signers").send(Message.make("signed", b"believed", keys="signed-key"))
        seen = Seen()
        cluster.push_consumer(seen, "our-believers", topics=["signed"], from_where=FIRST)
        assert seen.wait(1).bodies == ["believed"]
        assert [member.client_id for member in admin.groups.members(guarded.broker, "our-believers").connections]
        [found] = admin.messages.by_key(guarded.broker, "signed", "signed-key")
        assert found.body == b"believed"
        assert admin.messages.by_unique_key(guarded.broker, "signed", found.properties["UNIQ_KEY"]) == (found,)


@pytest.mark.apache
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({}, id="none"),
        pytest.param({"access_key": HOST[0], "secret_key": "not-the-hosts-secret"}, id="wrong"),
        pytest.param({"access_key": "nobodys-key", "secret_key": HOST[1]}, id="unknown"),
    ],
)
def test_who_does_not_is_refused_with_a_code(guarded: Server, keys: dict[str, str]) -> None:
    with connect(guarded.namesrv, **keys) as cluster:
        with pytest.raises(BrokerRefused) as refused:
            cluster.admin.topics.create(guarded.broker, "unsigned")
        with pytest.raises(SandboxError):
            cluster.producer("our-strangers").send(Message.make("signed", b"not believed"))
    assert refused.value.code == REFUSAL[guarded.name.removeprefix("apache-")]
    assert [record.body for record in guarded.records("signed") if record.body != b"believed"] == []
