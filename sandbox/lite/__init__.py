"""A sandbox in the reader's own browser: one thread, a disk in memory, one hub (docs/lite.md)."""
