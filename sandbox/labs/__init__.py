"""Guided labs: steps to predict, do, observe and explain, and pure checks of the journal."""
