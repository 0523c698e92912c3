"""Live channels of an engine: what a viewer has open, what changed, and which frames it gets."""
