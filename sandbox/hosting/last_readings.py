"""The last state of a sleeping sandbox: its channels, read when it fell asleep (file `last.json.zlib`)."""

import logging
import zlib
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sandbox.cluster.record import replace_file
from sandbox.control.channel_names import ChannelUnknown, split_without_slug
from sandbox.control.readings import Reading, Refusal
from sandbox.kernel import json_bytes
from sandbox.queries.snapshot.page_channels import board_channels, detail_channels

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox

log = logging.getLogger(__name__)

FILE_NAME = "last.json.zlib"
MOST = 500  # channels


def keep(sandbox: "Sandbox") -> None:
    """Write the channels of the sandbox's pages, the boards first.  Raises OSError."""
    cluster, kept = sandbox.cluster, {}
    for name in [*board_channels(cluster), *detail_channels(cluster)][:MOST]:
        try:
            kept[name] = sandbox.read(*split_without_slug(name))._asdict()
        except ChannelUnknown:  # a stopped broker has no store
            continue
    replace_file(sandbox.directory / FILE_NAME, zlib.compress(json_bytes.dumps(kept), 1))


def forget(directory: Path) -> None:
    """Remove the file, because the sandbox moves on; if it is killed then, its last state is unknown."""
    (directory / FILE_NAME).unlink(missing_ok=True)


def read_last(directory: Path, kind: str, rest: list[str]) -> Reading | Refusal:
    """Return a channel as it was when the sandbox fell asleep, with a stopped clock; a Refusal if that is unknown."""
    try:
        kept = json_bytes.loads(zlib.decompress((directory / FILE_NAME).read_bytes()))
        reading = kept["/".join([kind, *(quote(part, safe="") for part in rest)])]
        return Reading(**(reading | {"rate": 0.0, "reached_rate": None}))
    except (FileNotFoundError, KeyError):
        return Refusal("asleep")
    except (OSError, ValueError, TypeError, zlib.error) as error:
        log.warning("the last state of %s cannot be read: %s", directory.name, error)
        return Refusal("asleep")
