"""The read side: snapshots for live channels, answers to questions, rows of both.  It never changes a cluster."""
