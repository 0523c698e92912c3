"""The journal: typed events, their order, their files."""
