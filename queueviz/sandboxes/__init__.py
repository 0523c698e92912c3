"""Sandboxes of visitors: making, owning, acting, and what they begin with."""
