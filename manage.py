#!/usr/bin/env python
"""`queueviz` in a checkout: `manage.py migrate`, `feed`, `sandboxes`, `bench`, …"""

from contextlib import suppress

from queueviz.command_line import main
from queueviz.translations import compile_translations

if __name__ == "__main__":
    with suppress(OSError):  # where the checkout cannot be written, pages are English
        compile_translations()
    main()
