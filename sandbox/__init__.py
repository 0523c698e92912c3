"""A RocketMQ-compatible broker, name server and clients in plain Python, and the hosting around them.

Nothing in this package knows the web.  Floors and what may import what: docs/architecture.md.
"""
