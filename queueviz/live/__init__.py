"""Live boards: read once, compare once, encode once, and send to whoever keeps up (docs/live.md)."""
