"""Sealed log files: files that never change again, written once as Parquet and read by Spark itself."""
