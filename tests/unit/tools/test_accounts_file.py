"""`manage.py broker --acl FILE`: Apache's plain_acl.yml, and sentences for files that are none."""

from pathlib import Path

import pytest

from sandbox.broker.acl import AccessControl
from sandbox.broker.acl_config import Account, AclConfig, AclError
from sandbox.kernel.clock import ScaledClock
from sandbox.sim.loop import SimLoop
from sandbox.tools.accounts_file import LOOK_S, MAX_FILE_BYTES, AccountsFile, read_accounts
from sandbox.tools.broker_plan import CannotStart, Options, make_plan

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
        Account(
            "RocketMQ", "12345678", "", False, "DENY", "SUB", ("topicA=DENY", "topicB=PUB|SUB"), ("groupB=PUB|SUB",)
        ),
        Account("rocketmq2", "87654321", "192.168.1.*", True),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("accounts: [", "not valid YAML in line 1"),
        ("- a\n- b\n", "not a mapping with accounts"),
        ("", "not a mapping with accounts"),
        ("accounts: {accessKey: RocketMQ}", "accounts is not a list of mappings"),
        ("accounts: [RocketMQ]", "accounts is not a list of mappings"),
        ("globalWhiteRemoteAddresses: 10.0.0.1", "not a list of strings"),
        ("globalWhiteRemoteAddresses: [ten]", "netaddress is ten"),
        ("accounts: [{accessKey: short, secretKey: '12345678'}]", "longer than 6"),
        ("accounts: [{accessKey: RocketMQ, secretKey: '12345678', topicPerms: T=PUB}]", "topicPerms of account 1"),
        ("accounts: [{accessKey: RocketMQ, secretKey: '12345678', topicPerms: [T=ALL]}]", "Parse resource permission"),
        ("# " + "x" * MAX_FILE_BYTES, "larger than 1048576"),
    ],
)
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
    with pytest.raises(CannotStart, match="Name the accounts with --acl"):
        make_plan(Options(store=tmp_path / "store", properties={"aclEnable": "true"}))


def test_a_file_that_changes_is_read_again_within_five_seconds_and_a_broken_one_changes_nothing(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(APACHES)
    loop = SimLoop()
    clock = ScaledClock(loop, start_ms=0)
    taken: list[AclConfig] = []
    watched = AccountsFile(path, clock, taken.append)
    loop.run_for(60)
    assert taken == [], "nothing has changed"
    path.write_text(APACHES.replace("rocketmq2", "rocketmq3"))
    loop.run_for(LOOK_S)
    assert [account.access_key for account in taken[-1].accounts] == ["RocketMQ", "rocketmq3"]
    path.write_text("accounts: [")
    loop.run_for(LOOK_S)
    path.unlink()
    loop.run_for(LOOK_S)
    assert len(taken) == 1
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        f"The accounts file {path} is not valid YAML in line 1. The accounts are unchanged.",
        f"The accounts file {path} cannot be read: no such file or directory. The accounts are unchanged.",
    ]
    path.write_text(APACHES)
    loop.run_for(LOOK_S)
    assert len(taken) == 2
    watched.close()


def test_new_accounts_count_from_the_next_request_on(path: Path) -> None:
    path.write_text(APACHES)
    loop = SimLoop()
    control = AccessControl(read_accounts(path), ScaledClock(loop, start_ms=0))
    path.write_text(APACHES.replace("rocketmq2", "rocketmq3"))
    before = control.version
    control.replace(read_accounts(path))
    assert (control.account("rocketmq2"), control.account("rocketmq3") is None) == (None, False)
    assert control.version.counter == before.counter + 1
    with pytest.raises(AclError):
        control.replace(AclConfig((Account("short", "12345678"),)))
    assert control.account("rocketmq3") is not None
