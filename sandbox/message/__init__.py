"""Messages in memory and on disk."""
