"""The broker: topics, groups, offsets, locks, delays, retries."""
