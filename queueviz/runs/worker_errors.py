"""Sentences of the worker about failed runs, stored in English and shown in the reader's language."""

from django.utils.translation import gettext_lazy as _

LATE = _("It took longer than {minutes} minutes and was stopped.")
NO_SANDBOX = _("The sandbox has no files here.")
DIED = _("Spark's process ended early, with exit code {code}. Run it again.")
KILLED = _("Spark's process was killed by signal {signal}. If this machine is short of memory, run it again later.")
NO_MEMORY = _("Spark ran out of memory. Request less, or give the machine more.")
NOT_STARTED = _("Spark could not be started: {why}.")
WORKER_ENDED = _("The worker ended while this ran. Run it again.")
WORKER_STOPPED = _("The server was stopped while this ran. Run it again.")
