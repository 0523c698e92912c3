"""What holds for all tests: a mark that names a claim names one there is."""

import pytest

from queueviz.fidelity.ledger import ledger


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rows = ledger()
    for item in items:
        for mark in item.iter_markers("seed"):
            if not mark.args:
                raise pytest.UsageError(f'{item.nodeid}: name the rows this test shows, as in seed("0.27")')
            for row in mark.args:
                if row not in rows:
                    raise pytest.UsageError(f"{item.nodeid}: {row!r} is no row of queueviz/fidelity/claims")
