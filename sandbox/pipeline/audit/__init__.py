"""Does a store agree with itself?  The same question as `mqstore verify`, asked column by column and in many processes.

Plain functions over NumPy arrays: `plan` divides the files into pieces of work, `pieces` does one, `verdict` puts
together what they found.  Nothing here knows Spark; `jobs/store_audit.py` is who hands the work out.
"""
