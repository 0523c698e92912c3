"""Runs of the pipeline from the pages: asked for, waited for, carried out by a worker beside the server, and read.

The server's process writes rows and reads Parquet; only the worker's child has Spark in it (docs/pipeline-worker.md).
"""
