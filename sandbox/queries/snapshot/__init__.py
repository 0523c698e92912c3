"""Snapshots for live channels: plain values read from the engine in one turn."""
