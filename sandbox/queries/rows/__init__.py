"""Row types: the shapes of values that several snapshots and questions share."""
