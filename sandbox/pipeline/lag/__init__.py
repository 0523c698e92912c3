"""The lag of groups, second by second, computed from a journal's entries: plain Python, no Spark."""
