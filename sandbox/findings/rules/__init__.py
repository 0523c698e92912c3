"""Rules, one finding each."""
