"""Every job by its name."""

from sandbox.pipeline.jobs.export import EXPORT
from sandbox.pipeline.jobs.job import Job

JOBS: dict[str, Job] = {job.name: job for job in (EXPORT,)}
