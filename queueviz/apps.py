"""The Django app configuration.  `ready` starts nothing: the engine starts with the first page that needs it."""

from django.apps import AppConfig


class QueuevizConfig(AppConfig):
    name = "queueviz"
    verbose_name = "QueueViz"

    def ready(self) -> None:
        from queueviz.access import policy  # noqa: F401  its receiver adopts sandboxes at sign-in
        from queueviz.courses import proof_files  # noqa: F401  its receiver removes executed runs with their sandbox
        from queueviz.runs import directories  # noqa: F401  its receiver removes results with their sandbox
