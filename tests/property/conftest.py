"""How long Hypothesis may take: machines are shared, so no deadline for a single example."""

from hypothesis import settings

settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")
