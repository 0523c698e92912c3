"""Jobs of the pipeline; `all_jobs.JOBS` has them by name."""
