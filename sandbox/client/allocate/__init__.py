"""Who reads which queue: one strategy each."""
