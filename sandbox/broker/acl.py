"""Access control of a broker, checked before a request's handler runs."""

from sandbox.broker.acl_config import (
    MAX_ACCOUNTS,
    MAX_WHITE_ADDRESSES,
    PUB,
    SUB,
    Account,
    AclConfig,
    AclError,
    Rules,
    white_address,
)
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import BrokerRefused
from sandbox.message import topic_names as names
from sandbox.remoting.bodies import DataVersion, HeartbeatData
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import text_or_none
from sandbox.remoting.signature import ACCESS_KEY, is_signed

EXCEPTION = "org.apache.rocketmq.acl.common.AclException"

ADMIN_CODES = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.UPDATE_BROKER_CONFIG,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
        # RocketMQ 4.9.8 lets every account do these, and so become an administrator; here it does not.
        RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
        RequestCode.DELETE_ACL_CONFIG,
        RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
    }
)


class AccessControl:
    """Accounts, permissions and trusted addresses of a broker, and the check of requests against them.

    RocketMQ 4.x: `PlainAccessValidator`, `PlainPermissionManager` (spec remoting 5).  A refused request gets code 1
    and RocketMQ's message, without the line of Java that threw it.
    """

    def __init__(self, config: AclConfig, clock: Clock) -> None:
        """Create access control.  Raises AclError if RocketMQ would not accept the configuration."""
        self._clock = clock
        self.version = DataVersion(0, clock.now_ms())
        self.config = config
        self._take(config)

    def check(self, c: RemotingCommand, remote: str) -> None:
        """Check signature and permissions of a request from `remote`.

        Raises BrokerRefused (1) if it is not allowed.
        """
        ip = remote.rpartition(":")[0].strip("[]")
        if any(matches(ip) for matches in self._white):
            return
        access_key = text_or_none(c.ext, ACCESS_KEY)
        if access_key is None:
            raise _refused("No accessKey is configured")
        rules = self._rules.get(access_key)
        if rules is None:
            raise _refused(f"No acl config for {access_key}")
        if rules.is_white(ip):
            return
        if not is_signed(c, rules.account.secret_key):
            raise _refused(f"Check signature failed for accessKey={access_key}")
        self._check_permissions(c, rules)

    def replace(self, config: AclConfig) -> None:
        """Replace the whole configuration from the next request on.

        Raises AclError if it is invalid; nothing changes then.
        """
        self._take(config)
        self.version = self.version.next(self._clock.now_ms())

    def put(self, account: Account) -> None:
        """Add an account, or replace the one with the same key.  Raises AclError if it is invalid or one too many."""
        rules = Rules.of(account)
        if account.access_key not in self._rules and len(self._rules) >= MAX_ACCOUNTS:
            raise AclError(f"a broker has at most {MAX_ACCOUNTS} accounts")
        self._rules[account.access_key] = rules
        self._changed()

    def account(self, access_key: str) -> Account | None:
        rules = self._rules.get(access_key)
        return rules.account if rules else None

    def remove(self, access_key: str) -> bool:
        """Remove an account; return False if the key has none."""
        if self._rules.pop(access_key, None) is None:
            return False
        self._changed()
        return True

    def set_white_addresses(self, texts: tuple[str, ...]) -> None:
        """Replace the patterns of addresses that need no signature.

        Raises AclError if one is invalid or there are too many.
        """
        if len(texts) > MAX_WHITE_ADDRESSES:
            raise AclError(f"there are at most {MAX_WHITE_ADDRESSES} white addresses")
        self._white = [white_address(text) for text in texts]
        self.config = self.config._replace(global_white_addresses=texts)
        self._changed()

    def _take(self, config: AclConfig) -> None:
        rules = {account.access_key: Rules.of(account) for account in config.accounts}
        white = [white_address(text) for text in config.global_white_addresses]
        self._rules, self._white = rules, white
        self.config = config

    def _changed(self) -> None:
        accounts = tuple(rules.account for rules in self._rules.values())
        self.config = self.config._replace(accounts=accounts)
        self.version = self.version.next(self._clock.now_ms())

    def _check_permissions(self, c: RemotingCommand, rules: Rules) -> None:
        """Refuse a request for which the account lacks a permission.

        Writing traces is always allowed.  An administrator's account without permissions of its own may do everything.
        """
        needed = needed_permissions(c)
        if needed.get(names.TRACE_TOPIC) == PUB:
            return
        account = rules.account
        if c.code in ADMIN_CODES and not account.admin:
            raise _refused(
                f"Need admin permission for request code={int(c.code)}, but accessKey={account.access_key} is not"
            )
        if account.admin and not rules.permissions:
            return
        for resource, bits in needed.items():
            if not rules.may(resource, bits):
                group = resource.removeprefix(names.RETRY_PREFIX)
                what = f"topic:{resource}" if group == resource else f"group:{group}"
                raise _refused(f"No default permission for {what}")


def needed_permissions(c: RemotingCommand) -> dict[str, int]:
    """Return the permission bits that a request needs, by topic; a group is named by its retry topic.

    Codes that are not listed need none.  As in RocketMQ, batches (320) are not listed, and a retry sent with the old
    code (10) names its group in a field that it does not have.
    """
    needed: dict[str, int] = {}

    def needs(name: str | None, bits: int) -> None:
        if name is not None:
            needed[name] = bits

    def needs_group(field: str) -> None:
        group = text_or_none(c.ext, field)
        needs(None if group is None else names.retry_topic(group), SUB)

    if c.code in (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2):
        topic_field, group_field = ("topic", "group") if c.code == RequestCode.SEND_MESSAGE else ("b", "a")
        topic = text_or_none(c.ext, topic_field)
        if topic is not None and topic.startswith(names.RETRY_PREFIX):
            needs_group(group_field)
        else:
            needs(topic, PUB)
    elif c.code == RequestCode.CONSUMER_SEND_MSG_BACK:
        needs_group("group")
    elif c.code in (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE, RequestCode.UPDATE_CONSUMER_OFFSET):
        needs(text_or_none(c.ext, "topic"), SUB)
        needs_group("consumerGroup")
    elif c.code == RequestCode.QUERY_MESSAGE:
        needs(text_or_none(c.ext, "topic"), SUB)
    elif c.code in (RequestCode.UNREGISTER_CLIENT, RequestCode.GET_CONSUMER_LIST_BY_GROUP):
        needs_group("consumerGroup")
    elif c.code == RequestCode.HEART_BEAT:
        for consumer in HeartbeatData.decode(c.body).consumers:
            needs(names.retry_topic(consumer.group_name), SUB)
            for sub in consumer.subscriptions:
                needs(sub.topic, SUB)
    return needed


def _refused(reason: str) -> BrokerRefused:
    return BrokerRefused(ResponseCode.SYSTEM_ERROR, f"{EXCEPTION}: {reason}")
