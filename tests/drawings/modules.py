"""Modules of static/queueviz/js that need no page, run by Node.js."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Modules:
    """One process for all calls: a script is compiled once, a module loaded once.

    `page`: the JSON data of the page by element id, such as its texts.
    """

    def __init__(self, node: str, page: Mapping[str, Any] | None = None) -> None:
        command = [node, str(Path(__file__).with_name("call.mjs"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        self._write(page or {})

    def __call__(self, module: str, script: str, *values: object) -> Any:
        """`script`: a JavaScript function of the module and the values; returns what it returns."""
        assert self._process.stdout is not None
        self._write([module, script, values])
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def _write(self, line: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def end(self) -> None:
        self._process.communicate()
