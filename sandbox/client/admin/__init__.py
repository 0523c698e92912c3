"""Requests of `mqadmin`, answered as values: by our brokers and name servers and by Apache's, 4.9 and 5.x.

`Admin` has one part for each kind of request (spec remoting 2.2).  Every request raises RemotingError if the server
cannot be reached, BrokerRefused with code and remark if it refuses, and NotKnownThere if its release does not
support the request.
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
