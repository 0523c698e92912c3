"""Processor of administrators' requests for accounts and white addresses."""

from sandbox.broker.acl import AccessControl
from sandbox.broker.acl_config import Account, AclError
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.kernel.errors import BrokerRefused
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import is_true, text, text_or_none
from sandbox.remoting.json_body import dumps

FILE_NAME = "plain_acl.yml"  # the file that mqadmin lists a version of; it does not exist here
OFF = "access control is off at this broker"


class AclAdminProcessor:
    """Handlers of account requests: the access control part of `AdminBrokerProcessor`.

    Changes last until the broker stops.  With access control off RocketMQ fails with a NullPointerException (209 to
    211) and does not answer 52.
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: self.put,
            RequestCode.DELETE_ACL_CONFIG: self.delete,
            RequestCode.GET_BROKER_CLUSTER_ACL_INFO: self.version,
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: self.white_addresses,
        }

    def put(self, c: RemotingCommand, _: Channel) -> Answer:
        """Create or change an account.

        Missing fields of an existing account keep their value; only `admin` is always set.
        """
        refused = ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED
        access = self._access(refused)
        access_key = text(c.ext, "accessKey")
        known = access.account(access_key)
        secret = text_or_none(c.ext, "secretKey")
        if secret is None:  # RocketMQ requires it also where it is unchanged
            raise BrokerRefused(
                refused, f"The accessKey={access_key} and secretKey=null cannot be null and length should longer than 6"
            )
        account = _merged(known or Account(access_key, secret), c)._replace(secret_key=secret)
        try:
            access.put(account)
        except AclError as error:
            raise BrokerRefused(refused, str(error)) from None
        return c.reply(ResponseCode.SUCCESS)

    def delete(self, c: RemotingCommand, _: Channel) -> Answer:
        access_key = text(c.ext, "accessKey")
        if not self._access(ResponseCode.DELETE_ACL_CONFIG_FAILED).remove(access_key):
            raise BrokerRefused(
                ResponseCode.DELETE_ACL_CONFIG_FAILED,
                f"The accesskey[{access_key}] corresponding to accessConfig has been deleted failed.",
            )
        return c.reply(ResponseCode.SUCCESS)

    def white_addresses(self, c: RemotingCommand, _: Channel) -> Answer:
        """Replace the whole list of white addresses.  The request cannot name a file other than the default one."""
        refused = ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED
        access = self._access(refused)
        rows = text_or_none(c.ext, "globalWhiteAddrs")
        if rows is None or text_or_none(c.ext, "aclFileFullPath"):
            raise BrokerRefused(refused, f"The globalWhiteAddresses[{rows}] has been updated failed.")
        try:
            access.set_white_addresses(_split(rows))
        except AclError as error:
            raise BrokerRefused(refused, str(error)) from None
        return c.reply(ResponseCode.SUCCESS)

    def version(self, c: RemotingCommand, _: Channel) -> Answer:
        version = self._access(ResponseCode.SYSTEM_ERROR).version.to_json()
        config = self._parts.config
        ext = {
            "version": dumps(version).decode(),
            "allAclFileVersion": dumps({FILE_NAME: version}).decode(),
            "brokerName": config.name,
            "brokerAddr": config.address,
            "clusterName": config.cluster,
        }
        return c.reply(ResponseCode.SUCCESS, ext)

    def _access(self, refused: int) -> AccessControl:
        if self._parts.access is None:
            raise BrokerRefused(refused, OFF)
        return self._parts.access


def _merged(known: Account, c: RemotingCommand) -> Account:
    """Return the account with the request's fields applied.

    An empty default permission counts as missing, an empty address or list does not.
    """
    address = text_or_none(c.ext, "whiteRemoteAddress")
    topics, groups = text_or_none(c.ext, "topicPerms"), text_or_none(c.ext, "groupPerms")
    return known._replace(
        admin=is_true(c.ext, "admin"),
        white_remote_address=known.white_remote_address if address is None else address,
        default_topic_perm=text_or_none(c.ext, "defaultTopicPerm") or known.default_topic_perm,
        default_group_perm=text_or_none(c.ext, "defaultGroupPerm") or known.default_group_perm,
        topic_perms=known.topic_perms if topics is None else _split(topics),
        group_perms=known.group_perms if groups is None else _split(groups),
    )


def _split(rows: str) -> tuple[str, ...]:
    return tuple(row.strip() for row in rows.split(",") if row.strip())
