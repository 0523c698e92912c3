"""What groups made of messages, as tables: stores and journals joined, for the jobs that ask about it."""
