"""Spark jobs that read stores and journals as tables and answer questions about them (docs/pipeline.md).

Independent of Django.  Only code of the child process imports pyspark; other packages use `launch` and `results`.
"""
