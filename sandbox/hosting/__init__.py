"""Life cycle of sandboxes on one engine: thread, port, registry; open, act, ask, sleep."""
