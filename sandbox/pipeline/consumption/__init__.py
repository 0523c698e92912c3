"""Messages and their consumption as tables: stores and journals joined, for several jobs."""
