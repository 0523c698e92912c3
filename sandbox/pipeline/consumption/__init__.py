"""Tables of messages and their consumption: stores and journals joined, for several jobs."""
