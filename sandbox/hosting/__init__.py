"""Many sandboxes on one engine: thread, door, walls, actors, sleep."""
