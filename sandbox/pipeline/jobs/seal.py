"""Job `seal`: each rolled log file of a store written once as a Parquet file, which jobs then read instead.

    sealed    store, log (name of the file), rows, bytes (of the Parquet file), state, why
    iceberg   store, catalog (path of its file), rows, files, snapshot (its id); where a table of them is kept

States: `sealed` (now), `kept` (was, and still is), `left` (the broker still writes to it, or its queues begin or end
in it), `refused` (the audit finds something in it, or it cannot be written: it is read as before, and `why` says
so), `dropped` (retention took its log file).  Of a closed store the last file is sealed too.  `format` = `iceberg`
begins an Iceberg table of the sealed files (`pipeline.sealed.table`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.jobs.job import Given, Job, WrongOption, one_of
from sandbox.pipeline.runs.iceberg import ICEBERG, check
from sandbox.pipeline.sealed import table
from sandbox.pipeline.sealed.sealing import seal_stores
from sandbox.pipeline.sources.store_options import store_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEALED_ROWS = "store STRING, log STRING, rows BIGINT, bytes BIGINT, state STRING, why STRING"
ICEBERG_ROWS = "store STRING, catalog STRING, rows BIGINT, files BIGINT, snapshot BIGINT"
FORMATS = ("parquet", ICEBERG)


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    is_tabled = one_of(job_input.options, "format", FORMATS) == ICEBERG
    if not job_input.source.stores:
        raise WrongOption("No store to seal. Choose one with --store, or a sandbox with stored messages.")
    if missing := sorted(set(job_input.source.stores) - set(job_input.sealed)):
        raise WrongOption(f"The directory for sealed files of {missing[0]} is not set. Choose one with --sealed.")
    if is_tabled:
        check()
    stores = {name: store_at(path) for name, path in job_input.source.stores.items()}
    sealed = [
        (outcome.store, f"{outcome.log_start:020}", outcome.rows, outcome.file_bytes, outcome.state, outcome.why)
        for outcome in seal_stores(job_input.session, stores, job_input.sealed, tabled=is_tabled)
    ]
    kept = [
        (name, str(kept_table.catalog), kept_table.rows, kept_table.files, kept_table.snapshot)
        for name, root in sorted(stores.items())
        if table.is_in(job_input.sealed[name])
        for kept_table in [table.kept(job_input.sealed[name], root)]
    ]
    made = {"sealed": job_input.session.createDataFrame(sealed, SEALED_ROWS).coalesce(1)}
    if kept:
        made["iceberg"] = job_input.session.createDataFrame(kept, ICEBERG_ROWS).coalesce(1)
    return made


SEAL = Job("seal", "Which log files are complete, and where are their Parquet copies?", run, ("format",))
