"""A table is absent, empty, damaged or whole, and each is answered as `ConfigManager` of RocketMQ 4.9.8 does.

What counts as damaged was tried with fastjson 1.2.69, which that release uses.
"""

from typing import Any

import pytest

from sandbox.kernel.errors import TablesDamaged
from sandbox.store.disk import Disk
from sandbox.store.json_files import JsonFile
from tests.unit.store.stores import Stores

FILE, BACKUP = "config/consumerOffset.json", "config/consumerOffset.json.bak"
WHOLE = b'{\n\t"offsetTable":{\n\t\t"T@G":{0:15\n\t\t}\n\t}\n}'
NULS = bytes(len(WHOLE))
OLDER = b'{"offsetTable":{"T@G":{"0":9}}}'

# file, backup, and what comes of it; None: there is no such file
READINGS: list[tuple[bytes | None, bytes | None, str]] = [
    (None, None, "nothing"),
    (b"", None, "nothing"),
    (None, b"", "nothing"),
    (b"", b"", "nothing"),
    (WHOLE, None, "file"),
    (WHOLE, OLDER, "file"),
    (WHOLE, NULS, "file"),
    (None, OLDER, "backup"),
    (b"", OLDER, "backup"),
    (NULS, OLDER, "backup"),
    (b'{"offsetTable":', OLDER, "backup"),
    (NULS, None, "lost"),
    (NULS, b"", "lost"),
    (NULS, NULS, "damaged"),
    (None, NULS, "damaged"),
    (b"", WHOLE[:20], "damaged"),
]


@pytest.fixture
def disk() -> Disk:
    return Stores().disk


def table(disk: Disk, file: bytes | None, backup: bytes | None = None) -> JsonFile:
    for path, data in ((FILE, file), (BACKUP, backup)):
        if data is not None:
            disk.write(path, data)
    return JsonFile(disk, "consumerOffset")


@pytest.mark.parametrize(("file", "backup", "source"), READINGS, ids=range(len(READINGS)))
def test_c2_each_state_of_a_file_and_its_backup_has_its_own_outcome(
    disk: Disk, file: bytes | None, backup: bytes | None, source: str
) -> None:
    taken: list[Any] = []
    read = table(disk, file, backup).load(taken.append)
    assert read.source == source
    assert [content["offsetTable"]["T@G"]["0"] for content in taken] == {"file": [15], "backup": [9]}.get(source, [])


@pytest.mark.parametrize("data", [b" \n\t", b"null", b"[]"])
def test_blanks_are_an_empty_table_and_not_a_reason_to_take_the_backup(disk: Disk, data: bytes) -> None:
    assert table(disk, data, OLDER).load(pytest.fail).source == "file"


@pytest.mark.parametrize("data", [WHOLE + bytes(60), bytes(60) + WHOLE])
def test_zeros_around_a_whole_table_are_no_damage(disk: Disk, data: bytes) -> None:
    taken: list[Any] = []
    assert table(disk, data).load(taken.append).source == "file"
    assert taken == [{"offsetTable": {"T@G": {"0": 15}}}]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (NULS, "nul_bytes"),
        (WHOLE[:20] + bytes(60), "not_json"),
        (WHOLE + b"xx", "not_json"),
        (b"\xff\xfe", "not_json"),
        (b"5", "not_a_table"),
        (b"[1]", "not_a_table"),
        (b'"offsetTable"', "not_a_table"),
    ],
)
def test_a_damaged_file_says_what_it_holds_instead(disk: Disk, data: bytes, why: str) -> None:
    def take(content: Any) -> None:
        content.items()

    read = table(disk, data).load(take)
    assert [(one.path, one.why) for one in read.unread] == [(FILE, why), (BACKUP, "missing")]


def test_c1_who_only_reads_a_damaged_table_learns_which_files_they_are(disk: Disk) -> None:
    with pytest.raises(TablesDamaged, match=f"^{FILE} holds only NUL bytes, {BACKUP} is not JSON$"):
        table(disk, NULS, WHOLE[:9]).read()


def test_files_put_aside_are_kept_under_names_that_were_free(disk: Disk) -> None:
    first = table(disk, NULS, WHOLE[:9]).put_aside()
    assert first == (f"{FILE}.damaged", f"{BACKUP}.damaged")
    assert table(disk, None).read() is None
    assert table(disk, b"again").put_aside() == (f"{FILE}.damaged1",)
    assert [disk.read(path) for path in (*first, f"{FILE}.damaged1")] == [NULS, WHOLE[:9], b"again"]
