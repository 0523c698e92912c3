"""Producers and consumers, as an application uses them."""
