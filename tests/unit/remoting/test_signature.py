"""Signatures of ACL 4.x."""

from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.signature import is_signed, sign, signature, signed_text

SECRET = "12345678"


def test_the_signature_is_the_one_rocketmq_makes() -> None:
    """Spec remoting 5: the vector there."""
    text = signed_text({"topic": "T", "queueId": "0", "consumerGroup": "G", "AccessKey": "RocketMQ"}, None)
    assert text == b"RocketMQG0T"
    assert signature(text, SECRET) == "iAPYJZcWa8OO1zP5PQ/CknOz0lg="


def test_a_signed_request_says_who_sent_it_and_is_right() -> None:
    command = RemotingCommand(310, {"a": "P", "b": "T"}, b"body")
    sign(command, "RocketMQ", SECRET)
    assert (command.ext or {})["AccessKey"] == "RocketMQ"
    assert is_signed(command, SECRET)
    assert not is_signed(command, "another secret")


def test_a_changed_field_or_body_is_noticed() -> None:
    command = RemotingCommand(310, {"b": "T"}, b"body")
    sign(command, "RocketMQ", SECRET)
    command.body = b"Body"
    assert not is_signed(command, SECRET)
    command.body = b"body"
    command.ext = {**(command.ext or {}), "b": "U"}
    assert not is_signed(command, SECRET)


def test_a_request_without_fields_can_be_signed_and_one_without_signature_is_not() -> None:
    command = RemotingCommand(34, None, b"{}")
    assert not is_signed(command, SECRET)
    sign(command, "RocketMQ", SECRET, "token")
    assert (command.ext or {})["SecurityToken"] == "token"
    assert is_signed(command, SECRET)


def test_signing_again_signs_the_same() -> None:
    """A request tried at another broker is signed anew."""
    command = RemotingCommand(310, {"b": "T"}, None)
    sign(command, "RocketMQ", SECRET)
    first = dict(command.ext or {})
    sign(command, "RocketMQ", SECRET)
    assert command.ext == first


def test_the_flag_of_a_key_query_may_be_signed_or_not() -> None:
    for left_out in (False, True):
        ext = {"topic": "T", "_UNIQUE_KEY_QUERY": "true", "AccessKey": "RocketMQ"}
        text = signed_text({k: v for k, v in ext.items() if not left_out or k != "_UNIQUE_KEY_QUERY"}, None)
        assert is_signed(RemotingCommand(12, {**ext, "Signature": signature(text, SECRET)}), SECRET)


def test_names_are_sorted_by_code_units_and_values_are_utf8() -> None:
    assert signed_text({"b": "2", "a": "1", "Z": "0", "ü": "中"}, b"!") == "012中!".encode()
