"""Where rows go: a topic of a running broker."""
