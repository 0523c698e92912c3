"""The text a plain message is stored with: what its sender wrote, without WAIT and with the cluster's name."""

import pytest

from sandbox.broker.stored_text import plain_text


@pytest.mark.parametrize(
    ("text", "stored", "waits"),
    [
        ("", "CLUSTER\x01C", True),
        ("KEYS\x01k", "KEYS\x01k\x02CLUSTER\x01C", True),
        ("KEYS\x01k\x02WAIT\x01true", "KEYS\x01k\x02CLUSTER\x01C", True),
        ("KEYS\x01k\x02WAIT\x01true\x02", "KEYS\x01k\x02CLUSTER\x01C", True),
        ("KEYS\x01k\x02WAIT\x01true\x02TAGS\x01t", "KEYS\x01k\x02TAGS\x01t\x02CLUSTER\x01C", True),
        ("KEYS\x01k\x02WAIT\x01false\x02TAGS\x01t", "KEYS\x01k\x02TAGS\x01t\x02CLUSTER\x01C", False),
        ("WAIT\x01TRUE\x02TAGS\x01t", "TAGS\x01t\x02CLUSTER\x01C", True),
        ("WAIT\x01true", "CLUSTER\x01C", True),
        ("\x02WAIT\x01true", "CLUSTER\x01C", True),
        ("TAGS\x01t\x02WAIT\x01trueish", "TAGS\x01t\x02CLUSTER\x01C", False),
        ("AWAIT\x01true\x02WAIT\x01false", "AWAIT\x01true\x02CLUSTER\x01C", False),
        ("KEYS\x01\x02WAIT\x01no\x02WAIT\x01true", "KEYS\x01\x02WAIT\x01true\x02CLUSTER\x01C", False),
    ],
)
def test_wait_goes_and_the_cluster_comes(text: str, stored: str, waits: bool) -> None:
    assert plain_text(text, "C") == (stored.encode(), waits)
