"""Shapes that several snapshots and questions share."""
