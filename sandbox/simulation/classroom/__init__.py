"""A whole class at its sandboxes, made by the engine in virtual time: what jobs over many students are tried on."""
