"""What a message is, in memory and on disk."""
