"""The read side: snapshots for live channels, answers to questions, the rows both share.  Nothing here changes a cluster."""
