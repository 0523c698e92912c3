"""`python -m tests.pipeline.stream_reader STORE OUT`: streams a store to Parquet, as told on its standard input.

A line is the options of the stream as JSON; with `"follow": "true"` it goes on for ever, else to what is there by now.
It prints `{"rows": [[queueId, queueOffset], …]}`, all that OUT holds then, and how far `behind` each batch was, or
`{"why": sentence}`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from sandbox.pipeline.sentences import sentence_of
from sandbox.pipeline.session import open_session
from sandbox.pipeline.sources.progress import behind


def main(store: str, out: Path) -> None:
    session = open_session(master="local[2]")
    for line in sys.stdin:
        options = json.loads(line)
        follow = options.pop("follow", None) is not None
        try:
            rows = session.readStream.format("rocketmq-store").options(**options).load(store)
            writer = rows.select("queueId", "queueOffset").writeStream.format("parquet")
            writer = writer.option("checkpointLocation", str(out / "checkpoint")).option("path", str(out / "rows"))
            query = (writer if follow else writer.trigger(availableNow=True)).start()
            query.awaitTermination()
            found = session.read.parquet(str(out / "rows")).collect()  # by the sink's own list of files
            told = {"rows": [list(row) for row in found], "behind": each_behind(query)}
            print(json.dumps(told), flush=True)
        except Exception as why:
            print(json.dumps({"why": sentence_of(why)}), flush=True)
    session.stop()


def each_behind(query: Any) -> list[int]:
    """How many messages waited when each batch of a query ended; not of those that were planned before a restart."""
    progress = [json.loads(one.json)["sources"][0] for one in query.recentProgress]
    return [behind(one) for one in progress if one["latestOffset"] is not None]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
