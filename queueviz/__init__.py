"""The web application: pages, sockets, accounts.  This package is the Django project and its only app."""

__version__ = "0.4.0"
