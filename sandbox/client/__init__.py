"""Client library: producers, consumers and the administrator, as applications use them."""
