"""Audit of a store: the checks of `mqstore verify`, but column by column and in many processes.

Plain functions over NumPy arrays: `plan` divides the files into pieces of work, `pieces` executes one, `verdict`
combines their results.  Independent of Spark; `jobs/store_audit.py` distributes the work.
"""
