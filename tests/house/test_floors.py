"""Imports of the web floor, and circles of imports (docs/architecture.md); `script/lint` has the layers."""

import ast
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]

# Modules of the engine that the web floor may import.
OPEN_TO_WEB = (
    "sandbox.hosting",
    "sandbox.live",
    "sandbox.control",
    "sandbox.kernel",
    "sandbox.journal.events",
    "sandbox.journal.event_filter",
    "sandbox.attached.settings",
    "sandbox.attached.confirmation",
    "sandbox.cluster.config",
    "sandbox.cluster.disk_full",
    "sandbox.cluster.templates",
    "sandbox.cluster.actors.feeds",
    "sandbox.cluster.actors.table_feed",
    "sandbox.queries.changes",
    "sandbox.queries.rows",
    "sandbox.queries.state_at",
    "sandbox.findings.all_rules",
    "sandbox.findings.figures",
    "sandbox.findings.reasons",
    "sandbox.findings.recorded",
    "sandbox.labs.catalogue",
    "sandbox.labs.incidents",
    "sandbox.labs.lab",
    "sandbox.labs.lab_program",
    "sandbox.labs.lab_from_run",
    "sandbox.lite.bundle",
    "sandbox.tools.reference",
    "sandbox.tools.store_feed",
    "sandbox.commands.reset.undo",
    "sandbox.pipeline.jobs",
    "sandbox.pipeline.runs.error_sentences",
    "sandbox.pipeline.runs.kept_session",
    "sandbox.pipeline.runs.launch",
    "sandbox.pipeline.runs.results",
    "sandbox.pipeline.spark.small_runs",
)

OF_JOURNALS = dict.fromkeys(
    ("courses", "demo_class"),
    (
        "sandbox.journal.schema",
        "sandbox.journal.segments",
        "sandbox.labs.attempt",
        "sandbox.labs.evidence",
        "sandbox.labs.grade",
    ),
)
"""What reads journals as files or rows: a student's export, and the players of the demo course."""

LARGEST_CIRCLE = 5  # modules


def imported(path: Path) -> set[str]:
    """Every module a file imports, with what it takes from packages: `sandbox.journal.events`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_the_web_imports_the_listed_modules_only() -> None:
    trespassers = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "queueviz").rglob("*.py"))
        for name in imported(path)
        if name.split(".")[0] == "sandbox"
        and not any(f"{name}.".startswith(f"{allowed}.") for allowed in OPEN_TO_WEB)
        and path.parent.name != "commands"  # an operator's tool may look at a store directly
        and not any(f"{name}.".startswith(f"{allowed}.") for allowed in OF_JOURNALS.get(path.parent.name, ()))
    }
    assert not trespassers


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Modules that reach each other by their imports, those for types too; the largest circle first."""
    found, left = [], set(graph.modules)
    while left:
        module = left.pop()
        circle = {module} | (graph.find_upstream_modules(module) & graph.find_downstream_modules(module))
        left -= circle
        found.append(sorted(circle))
    return sorted((circle for circle in found if len(circle) > 1), key=len, reverse=True)


def test_no_more_than_five_modules_import_each_other_in_a_circle() -> None:
    large = [
        circle
        for circle in circles(grimp.build_graph("sandbox", "queueviz", cache_dir=None))
        if len(circle) > LARGEST_CIRCLE
    ]
    assert not large, "take what a module needs, not the whole object that holds it"


def test_a_circle_is_found_however_long_it_is() -> None:
    graph = grimp.ImportGraph()
    for importer, imported_module in ("ab", "bc", "ca", "cd", "de"):
        graph.add_import(importer=importer, imported=imported_module)
    assert circles(graph) == [["a", "b", "c"]]
