"""The message store: messages on disk by queue, key and time."""
