"""How far groups were behind, second by second, folded from a journal's entries: plain Python, no Spark."""
