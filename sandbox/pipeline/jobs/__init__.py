"""Every job by its name."""

from sandbox.pipeline.jobs.delivery_audit import DELIVERY_AUDIT
from sandbox.pipeline.jobs.export import EXPORT
from sandbox.pipeline.jobs.job import Job
from sandbox.pipeline.jobs.lag_history import LAG_HISTORY
from sandbox.pipeline.jobs.store_audit import STORE_AUDIT

JOBS: dict[str, Job] = {job.name: job for job in (DELIVERY_AUDIT, EXPORT, STORE_AUDIT, LAG_HISTORY)}
