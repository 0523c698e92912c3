"""Errors of reads whose names of conditions in Spark differ (`error_reports`)."""

from sandbox.kernel.errors import SandboxError, StoreError


class NoTopic(SandboxError):
    """Error: the name servers, a broker or the stores do not have the topic."""


class NotForUs(SandboxError):
    """Error: a broker refuses a request, and repeating it is useless."""


class DataLost(StoreError):
    """Error: messages that the read had to return no longer exist."""


class OffsetsOutOfRange(StoreError):
    """Error: requested offsets are not a range of their queue."""
