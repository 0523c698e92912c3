"""Who has which topic."""
