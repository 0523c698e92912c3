"""Messages on disk, found again by queue, key and time."""
