"""Where rows come from, and where they go: a store directory, a journal, a topic of a running broker."""
