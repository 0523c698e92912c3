"""Requests to answers: topics, groups, offsets, locks, delays, retries."""
