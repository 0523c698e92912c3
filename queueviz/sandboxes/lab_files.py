"""A sandbox's run as the source text of a lab.  The server never reads or executes such a file (docs/labs.md)."""

from queueviz import engine
from sandbox.cluster.templates import bare, template_of
from sandbox.labs.lab_from_run import saved_run
from sandbox.labs.lab_program import lab_program


def text_of(slug: str, at: int) -> str:
    """Return the lab file of the run up to event `at`.

    Raises ActionRefused: 404, 409 and 422 as for a reproducible link, 422 as `saved_run`.
    """
    order = engine.answer(engine.port().recipe(slug, at))
    built = template_of(order.template).setup
    return lab_program(saved_run(order, name=slug, template=bare(order.template), built=built))
