"""The command line: `queueviz serve`, `broker`, `mqstore`, …; in a checkout `manage.py`."""

import os
import sys

from queueviz import __version__


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "queueviz.settings")
    if sys.argv[1:] == ["--version"]:
        print(f"QueueViz {__version__}")
        return
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
