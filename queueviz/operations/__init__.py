"""The server's operation: its environment, load, log and static files; and HTTP clients for a running server."""
