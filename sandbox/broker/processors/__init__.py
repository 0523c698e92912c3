"""One module per family of request codes."""
