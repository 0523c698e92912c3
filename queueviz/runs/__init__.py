"""Pipeline runs requested on the pages: queued, executed by a worker beside the server, and read.

The server's process writes rows and reads Parquet; only the worker's child process has Spark (docs/pipeline-worker.md).
"""
