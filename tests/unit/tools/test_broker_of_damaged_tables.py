"""`manage.py broker` on a store whose tables cannot be read: it does not start, and says which files they are."""

import asyncio
from pathlib import Path

import pytest

from sandbox.tools.broker_plan import CannotStart, Options
from sandbox.tools.broker_process import Headless
from tests.ports import OF_SERVERS

SMALL = {"mappedFileSizeCommitLog": "1048576", "maxHashSlotNum": "1000", "maxIndexNum": "4000"}


def played(store: Path) -> list[str]:
    """Start and stop it; its sentences about tables."""

    async def play() -> list[str]:
        broker = Headless(Options(store=store, listen=f"127.0.0.1:{OF_SERVERS + 740}", properties=SMALL))
        await broker.start()
        sentences = broker.strange_tables()
        await broker.stop()
        return sentences

    return asyncio.run(play())


def test_c1_it_refuses_two_damaged_files_and_takes_a_whole_backup(tmp_path: Path) -> None:
    assert played(tmp_path) == []
    file, backup = (tmp_path / "config" / f"delayOffset.json{end}" for end in ("", ".bak"))
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(bytes(80))
    backup.write_bytes(bytes(80))
    with pytest.raises(CannotStart) as refusal:
        played(tmp_path)
    assert str(refusal.value) == (
        f"The store {tmp_path} cannot be opened: config/delayOffset.json holds only NUL bytes, "
        "config/delayOffset.json.bak holds only NUL bytes. Restore a whole file. To start with an empty "
        "table, move the damaged files away."
    )
    backup.write_bytes(b'{"offsetTable":{1:5}}')
    loaded = "broker-a loaded a table from its backup: config/delayOffset.json holds only NUL bytes."
    assert played(tmp_path) == [loaded]
