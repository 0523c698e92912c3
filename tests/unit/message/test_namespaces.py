"""Names inside a namespace, against RocketMQ's `NamespaceUtil`."""

import pytest

from sandbox.message.namespaces import with_namespace, without_namespace


@pytest.mark.parametrize(
    ("plain", "inside"),
    [
        ("orders", "INST%orders"),
        ("%RETRY%clerks", "%RETRY%INST%clerks"),
        ("%DLQ%clerks", "%DLQ%INST%clerks"),
        ("TBW102", "TBW102"),
        ("rmq_sys_trace", "rmq_sys_trace"),
        ("CID_RMQ_SYS_TRANS", "CID_RMQ_SYS_TRANS"),
        ("", ""),
    ],
)
def test_a_name_goes_in_once_and_comes_out_as_it_was(plain: str, inside: str) -> None:
    assert with_namespace("INST", plain) == inside
    assert with_namespace("INST", inside) == inside
    assert without_namespace("INST", inside) == plain
    assert with_namespace("", plain) == without_namespace("", plain) == plain


def test_a_name_of_another_namespace_stays_whole() -> None:
    assert without_namespace("INST", "OTHER%orders") == "OTHER%orders"
    assert without_namespace("INST", "%RETRY%OTHER%clerks") == "%RETRY%OTHER%clerks"
