"""Access control for external clients of a sandbox (ACL 4.x): required signatures and their keys.

This is RocketMQ's own check, applied to requests from real connections only: in-process clients count as
whitelisted. It has one account, an administrator.
"""

from sandbox.broker.acl import AccessControl
from sandbox.broker.acl_config import Account, AclConfig, AclError
from sandbox.control.access_keys import Keys
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import ActionRefused, BrokerRefused
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand

UNSIGNED = frozenset(
    {
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        RequestCode.QUERY_DATA_VERSION,
        RequestCode.GET_KV_CONFIG,
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        RequestCode.GET_NAMESRV_CONFIG,
    }
)
"""Requests a name server answers to unauthenticated clients.  RocketMQ's also lets them change it (spec remoting 5);
ours does not.
"""


class WireAccess:
    """Access control for external clients, active while keys are set."""

    def __init__(self, clock: Clock, keys: Keys | None) -> None:
        self._clock = clock
        self._control: AccessControl | None = None
        self.keys: Keys | None = None
        self.set(keys)

    @property
    def is_on(self) -> bool:
        return self._control is not None

    def set(self, keys: Keys | None) -> None:
        """Set the keys from the next request on; None requires none.

        Raises ActionRefused (422) if RocketMQ does not accept the keys.
        """
        if keys is None:
            self._control = self.keys = None
            return
        try:
            account = Account(*keys, admin=True)
            self._control = AccessControl(AclConfig((account,)), self._clock)
        except AclError:
            raise ActionRefused(422, "Both keys must have 7 to 1024 characters.", "Choose longer keys.") from None
        self.keys = keys

    def refusal(self, c: RemotingCommand, remote: str) -> BrokerRefused | None:
        """Return the refusal of a request; None if it is allowed.  Answers to a node's own requests are not checked."""
        if self._control is None or c.is_response or c.code in UNSIGNED:
            return None
        try:
            self._control.check(c, remote)
        except BrokerRefused as no:
            return no
        return None
