"""The grammar of `java.util.Properties.load`, as files for real brokers use it (C6)."""

import pytest

from sandbox.tools.properties_file import BadProperties, read_properties


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("brokerName: broker-a", {"brokerName": "broker-a"}),
        ("key value", {"key": "value"}),
        ("  key = value", {"key": "value"}),
        ("key=48  ", {"key": "48  "}),
        ("key = = value", {"key": "= value"}),
        ("messageDelayLevel=1s 5s \\\n    10s", {"messageDelayLevel": "1s 5s 10s"}),
        ("# it goes on \\\nkey=value", {"key": "value"}),
        ("key=a\\\n# no comment", {"key": "a# no comment"}),
        ("key=two \\\\\nother=1", {"key": "two \\", "other": "1"}),
        ("storePathRootDir=D:\\\\x", {"storePathRootDir": "D:\\x"}),
        ("storePathRootDir=D:\\x", {"storePathRootDir": "D:x"}),
        ("a\\=b=c\\u0041\\t", {"a=b": "cA\t"}),
        ("nothing", {"nothing": ""}),
        ("! comment\r\n\r\nkey=1\rkey=2", {"key": "2"}),
        ("key=cut \\", {"key": "cut "}),
    ],
)
def test_lines_are_read_as_java_reads_them(text: str, found: dict[str, str]) -> None:
    assert read_properties(text) == found


def test_what_java_refuses_is_named_by_its_line() -> None:
    with pytest.raises(BadProperties, match=r"Line 2 of the properties has '\\\\u12x4'"):
        read_properties("a=1\nb=\\u12x4")
