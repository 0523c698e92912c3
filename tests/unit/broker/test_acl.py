"""Permissions with access control."""

import pytest

from sandbox.broker.acl_addresses import address_pattern
from sandbox.broker.acl_config import Account, AclConfig
from sandbox.message import properties as props
from sandbox.remoting.bodies import ConsumerData, HeartbeatData, SubscriptionData
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import SendHeader
from sandbox.remoting.signature import sign
from tests.unit.broker.stage import Client, Stage, stage_with

SECRET = "12345678"
BOSS = Account("the-boss", SECRET, admin=True)
SHOP = Account(
    "the-shop",
    SECRET,
    default_topic_perm="DENY",
    default_group_perm="SUB",
    topic_perms=("orders=PUB|SUB", "news=SUB", "secrets=DENY"),
    group_perms=("spies=DENY",),
)
EXCEPTION = "org.apache.rocketmq.acl.common.AclException: "
TOPIC = {"readQueueNums": "1", "writeQueueNums": "1", "perm": "6"}


class Signed:
    """A client that signs."""

    def __init__(self, stage: Stage, account: Account) -> None:
        self._client: Client = stage.client()
        self._account = account

    def call(self, code: int, ext: dict[str, str] | None = None, body: bytes | None = None) -> RemotingCommand:
        command = RemotingCommand(code, ext, body)
        sign(command, self._account.access_key, self._account.secret_key)
        return self._client.call(code, command.ext, body)

    def send(self, topic: str) -> RemotingCommand:
        header = SendHeader("P", topic, "TBW102", 4, 0, 0, 1, 0, f"{props.WAIT}\x01true")
        return self.call(RequestCode.SEND_MESSAGE_V2, header.to_ext(), b"hello")

    def pull(self, group: str, topic: str) -> RemotingCommand:
        return self.call(RequestCode.PULL_MESSAGE, self._client.pull_ext(group, topic, 0))


stage = stage_with(acl=AclConfig((BOSS, SHOP)))


@pytest.fixture
def boss(stage: Stage) -> Signed:
    boss = Signed(stage, BOSS)
    for topic in ("orders", "news", "secrets", "other"):
        assert boss.call(RequestCode.UPDATE_AND_CREATE_TOPIC, {"topic": topic, **TOPIC}).code == 0
    return boss


@pytest.fixture
def shop(stage: Stage, boss: Signed) -> Signed:
    return Signed(stage, SHOP)


def why(answer: RemotingCommand) -> str:
    assert answer.code == 1
    assert answer.remark is not None
    assert answer.remark.startswith(EXCEPTION)
    return answer.remark.removeprefix(EXCEPTION)


def test_access_control_is_off_unless_someone_wants_it() -> None:
    assert Stage().client().send("orders").code == 0


def test_a_request_without_a_key_is_refused_whatever_it_asks(stage: Stage) -> None:
    assert why(stage.client().send("orders")) == "No accessKey is configured"
    assert why(stage.client().call(9_999)) == "No accessKey is configured"


def test_an_unknown_key_and_a_wrong_secret_are_refused(stage: Stage) -> None:
    assert why(Signed(stage, Account("stranger", SECRET)).send("orders")) == "No acl config for stranger"
    thief = Signed(stage, Account("the-shop", "87654321"))
    assert why(thief.send("orders")) == "Check signature failed for accessKey=the-shop"


def test_an_administrator_without_permissions_of_its_own_may_do_everything(boss: Signed) -> None:
    assert boss.send("secrets").code == 0
    assert boss.pull("g", "secrets").code == 0


def test_others_may_do_what_they_were_given(shop: Signed) -> None:
    assert shop.send("orders").code == 0
    assert shop.pull("g", "orders").code == 0
    assert why(shop.send("news")) == "No default permission for topic:news"
    assert shop.pull("g", "news").code != 1
    assert why(shop.pull("g", "secrets")) == "No default permission for topic:secrets"
    assert why(shop.send("other")) == "No default permission for topic:other"
    assert why(shop.pull("spies", "orders")) == "No default permission for group:spies"


def test_what_changes_the_broker_needs_an_administrator(shop: Signed) -> None:
    answer = shop.call(RequestCode.UPDATE_AND_CREATE_TOPIC, {"topic": "mine", **TOPIC})
    assert why(answer) == "Need admin permission for request code=17, but accessKey=the-shop is not"


def test_a_heartbeat_needs_its_groups_and_all_their_topics(shop: Signed) -> None:
    def beat(group: str, *topics: str) -> RemotingCommand:
        subs = tuple(SubscriptionData(topic, "*") for topic in topics)
        return shop.call(
            RequestCode.HEART_BEAT, None, HeartbeatData("c", (), (ConsumerData(group, subscriptions=subs),)).encode()
        )

    assert beat("g", "orders", "%RETRY%g").code == 0
    assert why(beat("g", "orders", "secrets")) == "No default permission for topic:secrets"
    assert why(beat("spies", "orders")) == "No default permission for group:spies"


@pytest.mark.parametrize(
    ("code", "ext"),
    [
        (RequestCode.CONSUMER_SEND_MSG_BACK, {"group": "spies", "offset": "0", "delayLevel": "0"}),
        (RequestCode.UNREGISTER_CLIENT, {"clientID": "c", "consumerGroup": "spies"}),
        (RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "spies"}),
        (
            RequestCode.UPDATE_CONSUMER_OFFSET,
            {"consumerGroup": "spies", "topic": "orders", "queueId": "0", "commitOffset": "1"},
        ),
        (RequestCode.LITE_PULL_MESSAGE, {"consumerGroup": "spies", "topic": "orders"}),
        (RequestCode.SEND_MESSAGE_V2, {"a": "spies", "b": "%RETRY%spies"}),
    ],
)
def test_what_a_group_does_needs_the_group(shop: Signed, code: int, ext: dict[str, str]) -> None:
    assert why(shop.call(code, ext)) == "No default permission for group:spies"


def test_traces_may_always_be_written(stage: Stage, shop: Signed, boss: Signed) -> None:
    answer = shop.send("RMQ_SYS_TRACE_TOPIC")
    assert not (answer.remark or "").startswith(EXCEPTION)


def test_white_addresses_need_no_key() -> None:
    stage = Stage(acl=AclConfig((Account("the-shop", SECRET, "127.0.0.7"),), ("10.0.0.*",)))
    assert stage.client("10.0.0.9").send("orders").code == 0
    unsigned = {"AccessKey": "the-shop", "topic": "orders", "queueId": "0"}
    assert stage.client("127.0.0.7").call(RequestCode.GET_MAX_OFFSET, unsigned).code == 0
    assert why(stage.client("127.0.0.8").call(RequestCode.GET_MAX_OFFSET, unsigned)).startswith("Check signature")


def test_a_oneway_request_that_is_refused_is_silently_lost(stage: Stage, boss: Signed) -> None:
    stage.client().oneway(
        RequestCode.UPDATE_CONSUMER_OFFSET,
        {"consumerGroup": "g", "topic": "orders", "queueId": "0", "commitOffset": "1"},
    )
    assert stage.broker.consumer_offsets.get("g", "orders", 0) is None


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("", [], ["127.0.0.1"]),
        ("*", ["127.0.0.1", "::1"], []),
        ("10.0.0.1", ["10.0.0.1"], ["10.0.0.2", "nonsense"]),
        ("10.0.0.1,10.0.0.3", ["10.0.0.1", "10.0.0.3"], ["10.0.0.2"]),
        ("10.0.0.{1,3}", ["10.0.0.1", "10.0.0.3"], ["10.0.0.2"]),
        ("10.0.0.4-9", ["10.0.0.4", "10.0.0.9"], ["10.0.0.3", "10.0.0.10", "10.0.1.5"]),
        ("10.0.*.*", ["10.0.3.4"], ["10.1.3.4"]),
        ("192.100-150.*.*", ["192.130.0.2"], ["192.99.0.2"]),
        ("::1", ["0:0:0:0:0:0:0:1"], ["::2"]),
        ("1050::5:600:300c:1-200", ["1050::5:600:300c:1ff"], ["1050::5:600:300c:201"]),
        ("1050:5:600:300c:3261:*", ["1050:5:600:300c:3261:1:2:3"], ["1050:5:600:300c:3262::1"]),
        ("1050::5:600:300c:{1,2}", ["1050::5:600:300c:2"], ["1050::5:600:300c:3"]),
    ],
)
def test_patterns_of_addresses(pattern: str, matching: list[str], others: list[str]) -> None:
    matches = address_pattern(pattern)
    assert [matches(address) for address in matching + others] == [True] * len(matching) + [False] * len(others)


@pytest.mark.parametrize(
    "pattern",
    [
        "256.0.0.1",
        "::1ggg",
        "127.0.0.1,2,3}",
        "10.0.0.9-4",
        "10.*.0.1",
        "*.0.0.1",
        "10.0.0",
        "1.2.3.4," * 300,
    ],
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        address_pattern(pattern)


# 50 to 53.


def put(who: Signed, access_key: str, **ext: str) -> RemotingCommand:
    return who.call(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, {"accessKey": access_key, **ext})


def test_an_account_is_made_changed_and_deleted_over_the_wire(stage: Stage, boss: Signed) -> None:
    assert put(boss, "new-shop", secretKey=SECRET, topicPerms="orders=PUB", defaultGroupPerm="SUB").code == 0
    new = Signed(stage, Account("new-shop", SECRET))
    assert new.send("orders").code == 0
    assert why(new.pull("g", "orders")) == "No default permission for topic:orders"
    assert put(boss, "new-shop", secretKey=SECRET, topicPerms="orders=SUB").code == 0
    assert new.pull("g", "orders").code != 1
    assert why(new.send("orders")) == "No default permission for topic:orders"
    assert boss.call(RequestCode.DELETE_ACL_CONFIG, {"accessKey": "new-shop"}).code == 0
    assert why(new.send("orders")) == "No acl config for new-shop"


@pytest.mark.parametrize(
    ("ext", "remark"),
    [
        ({"secretKey": "short"}, "The accessKey=new-shop and its secretKey cannot be null"),
        ({}, "The accessKey=new-shop and secretKey=null cannot be null"),
        ({"secretKey": SECRET, "topicPerms": "orders"}, "Parse Resource format error for orders."),
        ({"secretKey": SECRET, "groupPerms": "g=READ"}, "Parse resource permission error for g=READ."),
        ({"secretKey": SECRET, "whiteRemoteAddress": "here"}, "Netaddress examine Exception netaddress is here"),
    ],
)
def test_an_account_rocketmq_does_not_take_is_209(boss: Signed, ext: dict[str, str], remark: str) -> None:
    answer = put(boss, "new-shop", **ext)
    assert answer.code == 209
    assert (answer.remark or "").startswith(remark)


def test_an_account_that_is_not_there_cannot_be_deleted(boss: Signed) -> None:
    answer = boss.call(RequestCode.DELETE_ACL_CONFIG, {"accessKey": "stranger"})
    assert (answer.code, answer.remark) == (
        210,
        "The accesskey[stranger] corresponding to accessConfig has been deleted failed.",
    )


def test_white_addresses_are_replaced(stage: Stage, boss: Signed) -> None:
    code = RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG
    assert boss.call(code, {"globalWhiteAddrs": "10.0.0.1,10.0.0.2"}).code == 0
    assert stage.client("10.0.0.2").send("orders").code == 0
    assert boss.call(code, {"globalWhiteAddrs": "nowhere"}).code == 211
    assert boss.call(code, {"globalWhiteAddrs": "10.0.0.3", "aclFileFullPath": "/etc/x.yml"}).code == 211
    assert why(stage.client("10.0.0.3").send("orders")) == "No accessKey is configured"


def test_the_version_grows_with_every_change(boss: Signed) -> None:
    before = boss.call(RequestCode.GET_BROKER_CLUSTER_ACL_INFO).ext or {}
    put(boss, "new-shop", secretKey=SECRET)
    after = boss.call(RequestCode.GET_BROKER_CLUSTER_ACL_INFO).ext or {}
    assert ('"counter":0' in before["version"], '"counter":1' in after["version"]) == (True, True)
    assert (after["brokerName"], after["clusterName"]) == ("broker-a", "DefaultCluster")


def test_only_an_administrator_changes_accounts(shop: Signed) -> None:
    assert "Need admin permission" in why(put(shop, "the-shop", secretKey=SECRET, admin="true"))


def test_without_access_control_there_is_nothing_to_change() -> None:
    client = Stage().client()
    codes = [client.call(code, {"accessKey": "a", "globalWhiteAddrs": "*"}).code for code in (50, 51, 52, 53)]
    assert codes == [209, 210, 1, 211]


def test_a_secret_is_not_printed() -> None:
    assert SECRET not in repr(AclConfig((SHOP,)))


def test_a_file_of_rocketmq_is_read() -> None:
    config = AclConfig.from_plain(
        {
            "globalWhiteRemoteAddresses": ["10.10.103.*"],
            "accounts": [
                {
                    "accessKey": "RocketMQ",
                    "secretKey": "12345678",
                    "whiteRemoteAddress": None,
                    "admin": False,
                    "defaultTopicPerm": "DENY",
                    "defaultGroupPerm": "SUB",
                    "topicPerms": ["topicA=DENY"],
                    "groupPerms": ["groupA=DENY"],
                }
            ],
        }
    )
    assert config == AclConfig(
        (Account("RocketMQ", "12345678", "", False, "DENY", "SUB", ("topicA=DENY",), ("groupA=DENY",)),),
        ("10.10.103.*",),
    )
