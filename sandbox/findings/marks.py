"""Addresses of the parts of a board that a finding lights."""


def queue(topic: str, name: str) -> str:
    return f"queue/{topic}/{name}"


def member(key: str) -> str:
    """Address of a member's card."""
    return f"member/{key}"


def threads(key: str) -> str:
    """Address of the threads on a member's card."""
    return f"threads/{key}"


IN_OUT = "in_out"  # the rates of the header
LAG = "lag"
