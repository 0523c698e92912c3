"""A program for an installed `queueviz`: runs the commands and programs of a page, with one Spark for all of them.

Standard input: JSON [[name, [argument, …] or text of a program], …].  Standard output: JSON lines {"name", "output"}.
"""

import io
import json
import os
import shutil
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import django
from django.core.management import execute_from_command_line


def main() -> None:
    steps = json.load(sys.stdin)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "queueviz.settings")
    django.setup()
    from queueviz.runs import command_run
    from sandbox.pipeline.runs.launch import Child, Where

    with tempfile.TemporaryDirectory() as scratch, Path(scratch, "words").open("wb") as words:
        started: list[Child] = []

        class Shared:
            """The Spark process of all commands: it starts with the first one that needs it."""

            exit_code = None

            def __init__(self, *_: Any, **__: Any) -> None:
                if not started:
                    started.append(Child(Where("local[2]"), Path(scratch), os.environ, errors=words))

            def __enter__(self) -> Child:
                return started[0]

            def __exit__(self, *_: object) -> None:
                pass

        command_run.Child = Shared  # type: ignore[assignment, misc]
        names: dict[str, Any] = {}
        for name, step in steps:
            output = io.StringIO()
            with redirect_stdout(output):
                if isinstance(step, str):
                    exec(compile(step, name, "exec"), names)
                else:
                    if "--out" in step:  # the example of each command is its first
                        shutil.rmtree(step[step.index("--out") + 1], ignore_errors=True)
                    execute_from_command_line(["queueviz", *step])
            print(json.dumps({"name": name, "output": output.getvalue()}), flush=True)
        for child in started:
            child.close()


if __name__ == "__main__":
    main()
