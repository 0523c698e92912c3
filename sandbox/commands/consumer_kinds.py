"""Checks that refuse actions for pull and lite pull consumers, because they have no listener.

Every function raises ActionRefused (422) with the field.
"""

from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.actors.listener import REJECT
from sandbox.commands.validate import given
from sandbox.control.actions import ChangeActor, StartConsumer
from sandbox.kernel.errors import ActionRefused

OF_A_LISTENER = ("listener", "threads", "batch")
LITE_REFUSES_NOTHING = "Messages count as done when a lite pull consumer receives them; nothing can fail."
CHOOSE_ANOTHER = "Choose push or pull."


def check_kind(action: StartConsumer) -> None:
    if action.kind == "push":
        return
    if ignored := given(action, OF_A_LISTENER):
        raise ActionRefused(
            422,
            "Only a push consumer has a listener with threads and batches.",
            "Omit this field, or choose push.",
            field=ignored[0],
        )
    if action.kind == "lite_pull" and action.fail_percent:
        raise ActionRefused(422, LITE_REFUSES_NOTHING, CHOOSE_ANOTHER, field="fail_percent")


def check_kind_change(change: ChangeActor, actor: ConsumerActor) -> None:
    if actor.settings.kind != "lite_pull":
        return
    if change.fail_percent:
        raise ActionRefused(422, LITE_REFUSES_NOTHING, CHOOSE_ANOTHER, field="fail_percent")
    if change.handler is not None and change.handler.startswith(REJECT):
        raise ActionRefused(422, LITE_REFUSES_NOTHING, CHOOSE_ANOTHER, field="handler")
