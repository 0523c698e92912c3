"""The time that tests wait for an event: a limit, not a measure, so that only a failure takes so long."""

PATIENCE_S = 120.0  # other work may share the machine
