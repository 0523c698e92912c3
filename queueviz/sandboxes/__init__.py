"""Sandboxes of visitors: creation, ownership, actions, and initial histories."""
