"""How long a test waits for what must happen: a limit, not a measure, so that only a failure takes so long."""

PATIENCE_S = 120.0  # other work may share the machine
