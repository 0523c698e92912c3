"""Consequences of an action: sentences with their values (question `what-followed`)."""

from collections.abc import Mapping
from typing import TypedDict

from sandbox.kernel.sentences import Plural, Sentence

WAITING, DONE, UNKNOWN = "waiting", "done", "unknown"
SETTLED_MS = 30_000  # a rebalance takes up to 20 s, and a commit 5 s

FOLLOWED = frozenset(
    {"CrashActor", "StopActor", "HangActor", "StartConsumer", "RestartActor", "ResetOffsets", "UndoReset"}
)
SENTENCES: Mapping[str, Sentence] = {
    "crashed": "{who} crashed.",
    "stopped": "{who} stopped cleanly: messages in progress interrupted, all before them committed.",
    "hangs": Plural(
        "queues",
        "{who} hangs. Brokers keep it for {kept_ms} without a heartbeat; until then its {queues} queue waits.",
        "{who} hangs. Brokers keep it for {kept_ms} without a heartbeat; until then its {queues} queues wait.",
    ),
    "took": "{by} took {names} after {after_ms}.",
    "took_at_once": "{by} took {names} at once.",
    "took_many": Plural(
        "queues", "{by} took its {queues} queue after {after_ms}.", "{by} took its {queues} queues after {after_ms}."
    ),
    "took_many_at_once": Plural(
        "queues", "{by} took its {queues} queue at once.", "{by} took its {queues} queues at once."
    ),
    "untaken": "No other member has taken its queues.",
    "again": Plural("messages", "{messages} message was delivered again.", "{messages} messages were delivered again."),
    "never_again": "No message was delivered again.",
    "has": Plural(
        "queues", "{who} has {queues} queue after {after_ms}.", "{who} has {queues} queues after {after_ms}."
    ),
    "has_at_once": Plural("queues", "{who} has {queues} queue at once.", "{who} has {queues} queues at once."),
    "has_none": "{who} has no queue: other members have all of them.",
    "replayed": Plural(
        "replayed", "{replayed} message is delivered again.", "{replayed} messages are delivered again."
    ),
    "skipped": Plural("skipped", "{skipped} message is skipped.", "{skipped} messages are skipped."),
}


class FollowedSentence(TypedDict):
    """A sentence of `SENTENCES` with its values; those that end in `_ms` are durations."""

    sentence: str
    values: dict[str, object]


class Followed(TypedDict):
    """`state`: waiting (more follows), done, unknown (the journal no longer has it, or nothing is known to follow)."""

    state: str
    sentences: list[FollowedSentence]
