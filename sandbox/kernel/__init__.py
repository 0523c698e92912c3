"""Time, luck, identity and the error tree: what everything stands on."""
