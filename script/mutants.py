#!/usr/bin/env python3
"""A mutation test: change one expression of the product at a time and check that a test fails.

    script/test mutants [--count 50] [--seed 20261127] [--json FILE]

The mutants are drawn by the seed from all functions of `sandbox` and `queueviz` except the Spark pipeline.  The tests
are collected once.  Each mutant is a fork in which the function's code is replaced; the tests nearest to it by imports
run until one fails or a budget of processor seconds is spent.  A kill counts only if that test passes without it.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import random
import resource
import signal
import sys
import time
import types
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.imports import distances, importers, read_graph  # noqa: E402  # the root has to be importable first

LAYERS = {"unit": ("unit", "property", "golden"), "web": ("web", "lti"), "worlds": ("seed", "sim")}
BUDGET_S = 10.0  # processor seconds of one layer; a running test may finish
LIMIT_S = 90  # processor seconds of a fork: more is an endless loop
NOT_LOADED, HUNG = "not loaded", "hung"
WALL_S = 300.0  # for a mutant that waits forever
SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


class Site(NamedTuple):
    """An expression that can be changed, and the outermost function around it."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    node: Any
    kind: str


def sites(tree: ast.Module) -> list[Site]:
    """Return the sites of a file, in the order of its text."""
    result: list[Site] = []

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                result.extend(
                    Site(child, inner, kind)
                    for statement in child.body
                    for inner in ast.walk(statement)
                    if (kind := _kind(inner))
                )
            else:
                visit(child)

    visit(tree)
    return result


def _kind(node: ast.AST) -> str:
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in SWAPS:
            return "compare"
        case ast.BoolOp():
            return "and/or"
        case ast.If():
            return "if not"
        case ast.Expr(value=ast.Call()):
            return "dropped call"
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=int())):
            return "off by one"
        case ast.Subscript(slice=ast.Constant(value=int())):
            return "off by one"
    return ""


def change(site: Site) -> None:
    """Change the site's expression in its syntax tree."""
    node = site.node
    match node:
        case ast.Compare():
            node.ops[0] = SWAPS[type(node.ops[0])]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.If():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Expr():
            node.value = ast.Constant(None)
        case ast.BinOp():
            node.right = ast.Constant(node.right.value + 1)
        case ast.Subscript():
            node.slice = ast.Constant(node.slice.value + 1)


def draw(seed: int, count: int) -> list[tuple[Path, int]]:
    """Return a random sample of files and site numbers, which depends only on sources, seed and count."""
    files = [
        path
        for package in ("sandbox", "queueviz")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "migrations" not in path.parts and "pipeline" not in path.relative_to(ROOT).parts
    ]
    pool = [(path, number) for path in files for number in range(len(sites(ast.parse(path.read_text()))))]
    return random.Random(seed).sample(pool, count)


def compiled(tree: ast.Module, path: Path, function: ast.FunctionDef | ast.AsyncFunctionDef) -> types.CodeType:
    """Return the code object of the function in the changed tree."""
    first = min([decorator.lineno for decorator in function.decorator_list] + [function.lineno])
    pending = [compile(ast.fix_missing_locations(tree), str(path), "exec")]
    while pending:
        code = pending.pop()
        if code.co_name == function.name and code.co_firstlineno == first:
            return code
        pending += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    raise LookupError(f"{path}: no code of {function.name}")


def replace(path: Path, code: types.CodeType) -> int:
    """Replace the code of every live function at the site; return their number."""
    functions = [
        item
        for item in gc.get_objects()
        if isinstance(item, types.FunctionType)
        and (item.__code__.co_name, item.__code__.co_firstlineno) == (code.co_name, code.co_firstlineno)
        and Path(item.__code__.co_filename).resolve() == path
    ]
    for function in functions:
        function.__code__ = code
    return len(functions)


class Mutants:
    """A pytest plugin that runs tests against each mutant instead of once."""

    def __init__(self, drawn: list[tuple[Path, int]], out: Path | None) -> None:
        self._drawn, self._out = drawn, out
        self._failed: list[str] = []
        self._red: set[str] = set()  # tests that fail without any mutant
        self.rows: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        by_file: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in session.items:
            by_file[item.nodeid.partition("::")[0]].append(item)
        self._texts = {path: (ROOT / path).read_text() for path in by_file}
        self._by_file, self._importers = by_file, importers(read_graph())
        first = next(item for item in session.items if item.get_closest_marker("django_db"))
        self._last = session.items[-1]  # `nextitem` of each test, so that session fixtures stay
        first.config.hook.pytest_runtest_protocol(item=first, nextitem=self._last)  # creates the database
        for number, (path, site) in enumerate(self._drawn, 1):
            row = self._judge(path, site)
            self.rows.append(row)
            mutant = f"{row['file']}:{row['line']} {row['kind']}: {row['text']}"
            by = f" by {row['killer']}" if row["killer"] else ""
            print(f"\n{number}/{len(self._drawn)} {row['verdict']}{by}: {mutant}", flush=True)
            if self._out:
                self._out.write_text("".join(json.dumps(line) + "\n" for line in self.rows))
        return True

    def _judge(self, path: Path, number: int) -> dict[str, Any]:
        text = path.read_text()
        tree = ast.parse(text)
        site = sites(tree)[number]
        line = site.node.lineno
        change(site)
        code = compiled(tree, path, site.function)
        relative = path.relative_to(ROOT).as_posix()
        row = {
            "file": relative,
            "line": line,
            "function": site.function.name,
            "kind": site.kind,
            "text": text.splitlines()[line - 1].strip()[:100],
            "verdict": "survived",
            "killer": "",
        }
        importlib.import_module(relative.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        near = distances(self._importers, relative)
        name = site.function.name.strip("_")
        order = sorted(
            (file for file in self._by_file if file in near),
            key=lambda file: (name not in self._texts[file], near[file], file),
        )
        for folders in LAYERS.values():
            tests = [item for file in order if file.split("/")[1] in folders for item in self._by_file[file]]
            killer = self._killer(tests, path, code)
            if killer == NOT_LOADED:
                raise LookupError(f"{relative}: {site.function.name} is not a function of the loaded module")
            if killer:
                row |= {"verdict": "killed", "killer": killer}
                break
        return row

    def _killer(self, tests: list[pytest.Item], path: Path, code: types.CodeType) -> str:
        """Return the first test that fails with the mutant and passes without it."""
        tests = [item for item in tests if item.nodeid not in self._red]
        killer = _forked(lambda: self._play(tests) if replace(path, code) else NOT_LOADED)
        if killer in ("", HUNG, NOT_LOADED) or not self._fails_without(killer):
            return killer
        self._red.add(killer)
        return self._killer(tests, path, code)

    def _play(self, tests: list[pytest.Item]) -> str:
        """Run tests until one fails; return its id."""
        self._failed.clear()
        begun = time.process_time()
        for item in tests:
            if time.process_time() - begun > BUDGET_S:
                break
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=self._last)
            if self._failed:
                return item.nodeid
        return ""

    def _fails_without(self, nodeid: str) -> bool:
        tests = [item for item in self._by_file[nodeid.partition("::")[0]] if item.nodeid == nodeid]
        return bool(_forked(lambda: self._play(tests)))


def _forked(work: Callable[[], str]) -> str:
    """Return the result of `work` in a fork; HUNG if the fork runs or waits without end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
        try:
            answer = work()
        except BaseException as error:  # a mutant may raise anything, SystemExit too
            answer = f"raised {error!r}"[:200]
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + WALL_S
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
            break
        time.sleep(0.05)
    with os.fdopen(reader) as text:
        return text.read() if ended[1] == 0 else HUNG


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=20261127)
    parser.add_argument("--json", type=Path, help="write one JSON line per mutant")
    options = parser.parse_args()
    os.chdir(ROOT)
    plugin = Mutants(draw(options.seed, options.count), options.json)
    folders = [f"tests/{folder}" for layer in LAYERS.values() for folder in layer]
    pytest.main(
        ["-s", "-p", "no:xdist", "-p", "no:cacheprovider", "--tb", "no", "--show-capture", "no", *folders],
        plugins=[plugin],
    )
    killed = sum(row["verdict"] == "killed" for row in plugin.rows)
    print(f"\n{killed} of {len(plugin.rows)} mutants killed (seed {options.seed})")
    return 0 if plugin.rows else 1


if __name__ == "__main__":
    raise SystemExit(main())
