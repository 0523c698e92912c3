"""The pipeline's jobs, by name."""

from sandbox.pipeline.jobs.class_analytics import CLASS_ANALYTICS
from sandbox.pipeline.jobs.delivery_audit import DELIVERY_AUDIT
from sandbox.pipeline.jobs.export import EXPORT
from sandbox.pipeline.jobs.grading import GRADING
from sandbox.pipeline.jobs.hot_keys import HOT_KEYS
from sandbox.pipeline.jobs.import_files import IMPORT
from sandbox.pipeline.jobs.job import Job
from sandbox.pipeline.jobs.lag_history import LAG_HISTORY
from sandbox.pipeline.jobs.latency import LATENCY
from sandbox.pipeline.jobs.rebalance_history import REBALANCE_HISTORY
from sandbox.pipeline.jobs.seal import SEAL
from sandbox.pipeline.jobs.sql import SQL
from sandbox.pipeline.jobs.store_audit import STORE_AUDIT

JOBS: dict[str, Job] = {
    job.name: job
    for job in (
        CLASS_ANALYTICS,
        DELIVERY_AUDIT,
        EXPORT,
        GRADING,
        HOT_KEYS,
        IMPORT,
        LAG_HISTORY,
        LATENCY,
        REBALANCE_HISTORY,
        SEAL,
        SQL,
        STORE_AUDIT,
    )
}
