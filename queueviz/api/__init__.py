"""The JSON API (docs/automation.md)."""
