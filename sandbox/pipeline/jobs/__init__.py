"""Every job by its name."""

from sandbox.pipeline.jobs.export import EXPORT
from sandbox.pipeline.jobs.job import Job
from sandbox.pipeline.jobs.store_audit import STORE_AUDIT

JOBS: dict[str, Job] = {job.name: job for job in (EXPORT, STORE_AUDIT)}
