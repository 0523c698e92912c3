"""Runs of jobs: the child process, its orders and reports, and the results that a run writes."""
