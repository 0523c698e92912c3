"""The wire protocol without a wire."""
