"""The findings that were open at a past event of a sandbox, read from its journal."""

from queueviz import engine
from queueviz.boards.past_facts import EVENT, ROWS, FactSearch, PastFindings
from sandbox.findings.recorded import FACTS


def read(slug: str, at: int) -> PastFindings:
    port = engine.port()
    search = FactSearch(at, engine.answer(port.look_back(slug, EVENT, before=at + 1, most=1)))
    while search.goes_on:
        search.take(engine.answer(port.look_back(slug, FACTS, before=search.before, most=ROWS)))
    return search.findings
