"""What is kept and handed on of a run: share links, recipes, recordings, branches, the past."""
