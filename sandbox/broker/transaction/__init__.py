"""Transactional messages: half messages nobody can read yet, and the question what became of them."""
