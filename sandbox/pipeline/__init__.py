"""Spark jobs on store and journal: both as tables, and questions about them (docs/pipeline.md).

Independent of Django; only code of the child process imports pyspark: `launch` and `results` are for all other
packages.
"""
