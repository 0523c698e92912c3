"""The lag of groups, second by second, computed from a journal's entries in plain Python without Spark."""
