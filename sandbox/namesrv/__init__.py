"""The name server: routes of topics."""
