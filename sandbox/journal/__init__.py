"""Journal of a sandbox: typed events, their order, their files."""
