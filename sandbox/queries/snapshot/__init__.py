"""Plain values read from the engine in one turn."""
