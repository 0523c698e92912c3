"""A process that writes to a topic with Spark: `python -m tests.pipeline.sink_writer HOW NAMES DIR`, for tests to kill.

`batch`: some rows of DIR/in, then all of them under the same run.  `stream`: its files one after the other, until all
of them are there.
"""

import sys
from pathlib import Path

from sandbox.pipeline.session import open_session


def main(how: str, names: str, directory: str) -> None:
    session = open_session(master="local[2]")
    source, options = Path(directory) / "in", {"names": names, "topic": "T"}
    schema = "body STRING, keys STRING, properties MAP<STRING, STRING>, queueId INT, delayLevel INT"
    if how == "batch":
        rows = session.read.schema(schema).json(str(source))
        for part in (rows.where("keys < 'k3'"), rows):  # as a run that broke off, and the whole of it
            part.write.format("rocketmq").options(**options, run="one").mode("append").save()
    else:
        rows = session.readStream.schema(schema).option("maxFilesPerTrigger", "1").json(str(source))
        query = rows.writeStream.format("rocketmq").options(**options).option(
            "checkpointLocation", str(Path(directory) / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
