"""Broker: topics, groups, offsets, locks, delayed messages, retries and transactions."""
