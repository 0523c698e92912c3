"""Transactional messages: half messages, which consumers do not receive, and the check of their transactions."""
