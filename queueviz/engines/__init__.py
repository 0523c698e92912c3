"""Engines in processes of their own on this machine (`manage.py serve --engines N`, docs/running.md)."""

MOST_ENGINES = 64
