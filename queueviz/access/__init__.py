"""Access control: one policy, visitors, and rate limits."""
