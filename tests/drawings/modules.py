"""Modules of static/queueviz/js that need no page, run by Node.js."""

import json
import subprocess
from pathlib import Path
from typing import Any


class Modules:
    """One process for all calls: a script is compiled once, a module loaded once."""

    def __init__(self, node: str) -> None:
        command = [node, str(Path(__file__).with_name("call.mjs"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def __call__(self, module: str, script: str, *values: object) -> Any:
        """`script`: a JavaScript function of the module and the values; returns what it returns."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([module, script, values]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def end(self) -> None:
        self._process.communicate()
