"""`python -m tests.pipeline.stream_reader STORE OUT`: streams a store to Parquet, as told on its standard input.

A line is the options of the stream as JSON; with `"follow": "true"` it goes on for ever, else to what is there by now.
It prints `{"rows": [[queueId, queueOffset], …]}`, all that OUT holds then, or `{"why": sentence}`.
"""

import json
import sys
from pathlib import Path

from sandbox.pipeline.sentences import sentence_of
from sandbox.pipeline.session import open_session


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
            print(json.dumps({"rows": [list(row) for row in found]}), flush=True)
        except Exception as why:
            print(json.dumps({"why": sentence_of(why)}), flush=True)
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
