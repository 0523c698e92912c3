"""Typed questions, answered without effect."""
