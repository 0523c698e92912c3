"""`python -m tests.pipeline.cluster_reader NAMES DIR`: reads a cluster with Spark, as told on its standard input.

A line is the options as JSON.  With `"how": "once"` the rows are read once; `"again"`: and written to the topic in
`"to"`; `"now"`: they are streamed to Parquet in DIR, to what is there by now; `"follow"`: for ever.  It prints
`{"rows": [[topic, queueId, queueOffset, keys, length of body], …]}` (of a stream all that DIR holds, and how far
`behind` each batch was), or `{"why": sentence}`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from sandbox.pipeline.sentences import sentence_of
from sandbox.pipeline.session import open_session
from tests.pipeline.stream_reader import each_behind

SHOWN = ("topic", "queueId", "queueOffset", "keys", "length(body) AS bytes")


def main(names: str, out: Path) -> None:
    session = open_session(master="local[2]")
    session.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        options = {"names": names, **json.loads(line)}
        try:
            print(json.dumps(told(session, options.pop("how"), options, out)), flush=True)
        except Exception as why:
            print(json.dumps({"why": sentence_of(why)}), flush=True)
    session.stop()


def told(session: Any, how: str, options: dict[str, str], out: Path) -> dict[str, Any]:
    if how in ("once", "again"):
        to = options.pop("to", None)
        rows = session.read.format("rocketmq").options(**options).load()
        if how == "again":
            sent = rows.drop("topic").write.format("rocketmq").options(names=options["names"], topic=to)
            sent.mode("append").save()
        return {"rows": [list(row) for row in rows.selectExpr(*SHOWN).collect()]}
    rows = session.readStream.format("rocketmq").options(**options).load().selectExpr(*SHOWN)
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(out / "checkpoint"))
    writer = writer.option("path", str(out / "rows"))
    query = (writer if how == "follow" else writer.trigger(availableNow=True)).start()
    query.awaitTermination()
    found = session.read.parquet(str(out / "rows")).collect()  # by the sink's own list of files
    return {"rows": [list(row) for row in found], "behind": each_behind(query)}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
