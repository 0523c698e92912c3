"""Everything the browser sees: pages, sockets, accounts.  At once the Django project and its only app."""

__version__ = "0.1.0"
