"""Small files of one in-process client: the offsets of a broadcasting member."""

from pathlib import Path

from sandbox.cluster.record import replace_file


class ClientFiles:
    """Files under `clients/<actor>/`.  The old content of a replaced file is kept as `.bak`.

    Implements `client.local_offset_store.FileStore`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, name: str) -> bytes | None:
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.replace(path.with_name(f"{path.name}.bak"))
        replace_file(path, content)
