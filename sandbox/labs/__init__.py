"""Guided labs: what to predict, to do, to see and to explain, and pure checks over the journal."""
