"""Live boards: read once, compare once, encode once, and send to viewers that keep up (docs/live.md)."""
