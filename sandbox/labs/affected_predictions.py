"""Notices to a student whose sealed prediction a teacher's action has affected, by the name of the action."""

from sandbox.labs.translation_marks import _

STARTED = _(
    "Your teacher started {subject} again in the sandboxes of the class. The step begins again: give your "
    "prediction once more."
)
TEXTS = {
    "CrashActor": _(
        "Your teacher crashed {subject} in the sandboxes of the class. The step begins again: give your "
        "prediction once more."
    ),
    "ChangeActor": _(
        "Your teacher made the next message of {subject} slow in the sandboxes of the class. The step begins "
        "again: give your prediction once more."
    ),
    "SendMessages": _(
        "Your teacher sent a burst of messages to {subject} in the sandboxes of the class. The step begins "
        "again: give your prediction once more."
    ),
    "StopNameServer": _(
        "Your teacher stopped {subject} in the sandboxes of the class. The step begins again: give your "
        "prediction once more."
    ),
    "HangBroker": _(
        "Your teacher hung {subject} in the sandboxes of the class. This step starts again: enter your prediction "
        "once more."
    ),
    "PowerCut": _(
        "Your teacher cut the power of {subject} in the sandboxes of the class. The step begins again: give "
        "your prediction once more."
    ),
    "RestartActor": STARTED,
    "ResumeBroker": STARTED,
    "StartBroker": STARTED,
    "StartNameServer": STARTED,
}
OTHER = _(
    "Your teacher changed something in the sandboxes of the class. The step begins again: give your prediction "
    "once more."
)
