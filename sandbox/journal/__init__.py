"""What happened: typed events, their order, their files."""
