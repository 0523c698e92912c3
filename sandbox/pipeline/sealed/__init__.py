"""Log files that never change again, as Parquet files beside the store: written once, read by Spark itself."""
