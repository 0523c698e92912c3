"""Recordings: files of frames and facts that can be read from any position (docs/recording.md)."""
