"""Spark sink `rocketmq`: a topic of a running broker."""
