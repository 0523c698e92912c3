"""The pipeline jobs that pages offer for one sandbox, in the reader's language."""

from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from queueviz.access.policy import Visit
from queueviz.courses import releases

SCORES = frozenset({"grading"})  # jobs whose results have scores of labs
ENDLESS = frozenset({"follow"})  # a run that is asked for on a page comes to an end


class Offer(NamedTuple):
    """A job that pages offer.  `options`: the job's own, all optional."""

    job: str
    title: object
    question: object
    options: tuple[str, ...] = ()


_TEXTS = {
    "delivery_audit": (_("Delivery audit"), _("What happened to each message, for each group?")),
    "lag_history": (_("Lag history"), _("How far behind was each group, second by second?")),
    "latency": (_("Latency"), _("How long does a message take from creation to commit?")),
    "rebalance_history": (
        _("Rebalance history"),
        _("Which queues moved, which members disagreed, which had no queue?"),
    ),
    "store_audit": (_("Store audit"), _("Do queues and index match the commit log, byte for byte?")),
    "hot_keys": (_("Hot keys"), _("Which queues and keys get more than their share?")),
    "grading": (_("Grading"), _("What is the score of each lab attempt, and does the recorded grade match it?")),
}


def offers() -> dict[str, Offer]:
    """Return the offers of all available jobs by name, in the order of `_TEXTS`."""
    from sandbox.pipeline.jobs.all_jobs import JOBS  # what they need to run is imported where they run

    return {
        name: Offer(name, *texts, tuple(option for option in JOBS[name].options if option not in ENDLESS))
        for name, texts in _TEXTS.items()
        if name in JOBS
    }


def offers_to(visit: Visit) -> dict[str, Offer]:
    """Return the offers whose results this visitor may see."""
    return {name: offer for name, offer in offers().items() if visit.sees_scores or name not in SCORES}


def demand_shown(visit: Visit, job: str) -> None:
    """Raise ActionRefused (409) if the job's result has scores that are withheld from this visitor."""
    if job in SCORES and not visit.sees_scores:
        raise releases.withheld()


def title_of(job: str) -> object:
    """Return the title of a job in the reader's language, or its name if no page offers it."""
    return _TEXTS[job][0] if job in _TEXTS else job
