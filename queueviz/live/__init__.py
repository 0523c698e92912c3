"""Live boards: each is read, compared and encoded once, and sent to the viewers that keep up (docs/live.md)."""
