"""`manage.py broker --acl FILE`: Apache's plain_acl.yml, and sentences for files that are none."""

from pathlib import Path

import pytest

from sandbox.broker.acl_config import Account
from sandbox.hosting.acl_file import MAX_FILE_BYTES, read_accounts
from sandbox.hosting.headless_plan import CannotStart, Options, make_plan

APACHES = """
globalWhiteRemoteAddresses:
  - 10.10.103.*
accounts:
  - accessKey: RocketMQ
    secretKey: 12345678
    whiteRemoteAddress:
    admin: false
    defaultTopicPerm: DENY
    defaultGroupPerm: SUB
    topicPerms:
      - topicA=DENY
      - topicB=PUB|SUB
    groupPerms: [ groupB=PUB|SUB ]
  - accessKey: rocketmq2
    secretKey: 87654321
    whiteRemoteAddress: 192.168.1.*
    admin: true
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plain_acl.yml"


def test_the_file_of_apache_is_read_whole(path: Path) -> None:
    path.write_text(APACHES)
    config = read_accounts(path)
    assert config.global_white_addresses == ("10.10.103.*",)
    assert config.accounts == (
        Account("RocketMQ", "12345678", "", False, "DENY", "SUB", ("topicA=DENY", "topicB=PUB|SUB"),
                ("groupB=PUB|SUB",)),
        Account("rocketmq2", "87654321", "192.168.1.*", True))


@pytest.mark.parametrize(("text", "why"), [
    ("accounts: [", "no YAML in line 1"),
    ("- a\n- b\n", "no map with accounts"),
    ("", "no map with accounts"),
    ("accounts: {accessKey: RocketMQ}", "accounts is no list of maps"),
    ("accounts: [RocketMQ]", "accounts is no list of maps"),
    ("globalWhiteRemoteAddresses: 10.0.0.1", "no list of texts"),
    ("globalWhiteRemoteAddresses: [ten]", "netaddress is ten"),
    ("accounts: [{accessKey: short, secretKey: '12345678'}]", "longer than 6"),
    ("accounts: [{accessKey: RocketMQ, secretKey: '12345678', topicPerms: T=PUB}]", "topicPerms of account 1"),
    ("accounts: [{accessKey: RocketMQ, secretKey: '12345678', topicPerms: [T=ALL]}]", "Parse resource permission"),
    ("# " + "x" * MAX_FILE_BYTES, "more than 1048576 bytes"),
])  # fmt: skip
def test_a_file_that_is_none_is_refused_with_a_sentence_and_without_a_secret(path: Path, text: str, why: str) -> None:
    path.write_text(text)
    with pytest.raises(CannotStart) as refused:
        read_accounts(path)
    assert why in str(refused.value)
    assert "12345678" not in str(refused.value)


def test_a_file_that_is_not_there_is_said(path: Path) -> None:
    with pytest.raises(CannotStart, match="cannot be read: no such file or directory"):
        read_accounts(path)


def test_every_broker_of_the_process_has_the_accounts(path: Path, tmp_path: Path) -> None:
    path.write_text(APACHES)
    options = Options(store=tmp_path / "store", properties={}, brokers=2, accounts=read_accounts(path))
    assert [broker.config.acl for broker in make_plan(options).brokers] == [options.accounts] * 2


def test_access_control_without_accounts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="name the accounts with --acl"):
        make_plan(Options(store=tmp_path / "store", properties={"aclEnable": "true"}))
