"""The wire protocol, independent of a transport."""
