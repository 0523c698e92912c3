"""Spark: the store and the journal as tables, and what can be asked of them (docs/pipeline.md).

Nothing here knows Django, and only what runs in a child process imports pyspark: `launch` and `results` are for the
rest of the house.
"""
