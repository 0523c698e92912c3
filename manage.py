#!/usr/bin/env python
"""`queueviz` in a checkout: `manage.py migrate`, `feed`, `sandboxes`, `bench`, …"""

from queueviz.command_line import main

if __name__ == "__main__":
    main()
