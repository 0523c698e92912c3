"""Recordings: a file of frames and facts that can be read from any place in it (docs/recording.md)."""
