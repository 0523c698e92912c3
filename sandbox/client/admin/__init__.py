"""The requests of `mqadmin`, answered as values: by our brokers and name servers and by Apache's, 4.9 and 5.x.

`Admin` holds one part for each kind of request (spec remoting 2.2).  All of them raise RemotingError when the other end
cannot be reached, BrokerRefused with its code and remark when it refuses, and NotKnownThere when its release does not
know the request.
"""

from sandbox.client.admin.admin import Admin
from sandbox.client.admin.brokers import BrokerQuestions, BrokerRuntime
from sandbox.client.admin.groups import GroupQuestions
from sandbox.client.admin.messages import MessageQuestions
from sandbox.client.admin.names import NameServerQuestions
from sandbox.client.admin.offsets import OffsetQuestions
from sandbox.client.admin.topics import TopicQuestions

__all__ = [
    "Admin",
    "BrokerQuestions",
    "BrokerRuntime",
    "GroupQuestions",
    "MessageQuestions",
    "NameServerQuestions",
    "OffsetQuestions",
    "TopicQuestions",
]
