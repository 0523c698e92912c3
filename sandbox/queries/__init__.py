"""The read side: snapshots for live channels, answers to questions, rows of both.  Nothing here changes a cluster."""
