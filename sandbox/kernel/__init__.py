"""Clock, random numbers, ids and the exception tree, used by all other packages."""
