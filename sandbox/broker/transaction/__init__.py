"""Transactional messages: half messages, which no consumer sees yet, and the check of their transactions."""
