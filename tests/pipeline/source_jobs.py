"""The child process with one more job, `source`: the rows of a source are its table.

    how         once · stream (to the end there is, with a checkpoint) · sealed (the stores with their sealed log files)
    source      a Spark format; the options of the source are options of the job
    to          a topic of the same cluster, to which a stream sends the rows; then there is no table

`python -m tests.pipeline.source_jobs` is started in place of `python -m sandbox.pipeline`.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

from sandbox.pipeline.__main__ import main
from sandbox.pipeline.jobs.all_jobs import JOBS
from sandbox.pipeline.jobs.job import Given, Job
from sandbox.pipeline.runs.launch import Child, Launch, Where
from sandbox.pipeline.sealed.reading import messages

OF_SOURCES = ("names", "path", "startingOffsets", "stores", "subscribe")


def child_with_sources(where: Where, home: Path, errors: IO[bytes]) -> Child:
    launch = Launch.of

    def with_sources(*arguments: Any, **options: Any) -> Launch:
        made = launch(*arguments, **options)
        assert made.arguments[1:3] == ["-m", "sandbox.pipeline"]
        return made._replace(arguments=[sys.executable, "-m", __name__, *made.arguments[3:]])

    with patch.object(Launch, "of", with_sources):
        return Child(where, home, os.environ, errors=errors)


def run(job_input: Given) -> Mapping[str, Any]:
    session, options = job_input.session, job_input.options
    if options["how"] == "sealed":
        return {"rows": messages(session, job_input.source.stores, job_input.sealed, named=True)}
    of_source = {name: options[name] for name in OF_SOURCES if name in options}
    is_once = options["how"] == "once"
    rows = (session.read if is_once else session.readStream).format(options["source"]).options(**of_source).load()
    if is_once:
        return {"rows": rows}
    streamed = str(job_input.out / "streamed")
    writer = rows.writeStream.format("parquet").option("path", streamed)
    if "to" in options:
        writer = rows.drop("topic").writeStream.format("rocketmq")
        writer = writer.options(names=options["names"], topic=options["to"])
    writer = writer.option("checkpointLocation", str(job_input.out / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return {} if "to" in options else {"rows": session.read.parquet(streamed)}


if __name__ == "__main__":
    JOBS["source"] = Job("source", "Which rows does a source have?", run, ("how", "source", "to", *OF_SOURCES))
    main()
