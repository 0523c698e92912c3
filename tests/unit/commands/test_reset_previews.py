"""A preview's values, permitted changes before its apply, and reasons that refuse a reset or its undo."""

from typing import Any

import pytest

from sandbox.commands.reset.targets import targets_of
from sandbox.commands.reset.undo import UNDO_MS, UndoPoint, checked_point, undo_targets
from sandbox.control.actions import ResetOffsets
from sandbox.control.actions.offsets import ExpectedQueue
from sandbox.control.questions import PlanReset
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue
from sandbox.queries.reset_plan import PlannedQueue, Refusal, ResetPlan, fingerprint

GROUP, TOPIC = "order-svc", "orders"
QUEUES = [MessageQueue(TOPIC, "broker-a", queue_id) for queue_id in (0, 1)]
QUEUE = QUEUES[0].row
NEW_PLAN = {"rows": ["as it is now"]}


def row(
    committed: int | None, target: int | None, *, min_offset: int = 0, queue_id: int = 0, selected: bool = True
) -> PlannedQueue:
    return PlannedQueue(QUEUES[queue_id], min_offset, 100, committed, None, target, None, selected, ())


def plan(*rows: PlannedQueue, refused: Refusal | None = None) -> ResetPlan:
    return ResetPlan(rows, (), 0, refused, "offline", None)


def action(target: str, *shown: ExpectedQueue, confirm: str | None = GROUP, **more: Any) -> ResetOffsets:
    fields: dict[str, Any] = {"group": GROUP, "topic": TOPIC, "target": target, "method": "offline", **more}
    return ResetOffsets(expected=shown, confirm=confirm, **fields)


def refusal(now: ResetPlan, wished: ResetOffsets) -> ActionRefused:
    with pytest.raises(ActionRefused) as refused:
        targets_of(now, wished, lambda _: NEW_PLAN)
    return refused.value


@pytest.mark.parametrize(
    ("queue", "again", "skipped", "lag_after"),
    [
        (row(60, 40), 20, 0, 60),
        (row(40, 60), 0, 20, 40),
        (row(None, 60), 0, 60, 40),
        (row(60, None), 0, 0, 40),
        (row(60, 40, selected=False), 0, 0, 40),
        (row(30, 60, min_offset=50), 0, 10, 40),
        (row(None, None), 0, 0, 100),
    ],
)
def test_the_price_of_a_target_counts_only_messages_that_are_still_there(
    queue: PlannedQueue, again: int, skipped: int, lag_after: int
) -> None:
    assert (queue.again, queue.skipped, queue.lag_after) == (again, skipped, lag_after)


CHANGED: list[tuple[str, ExpectedQueue, PlannedQueue, str]] = [
    ("copy_of", ExpectedQueue(QUEUE, 5, None), row(5, 9), "broker-a:0 now has a target; it had none in the preview."),
    ("earliest", ExpectedQueue(QUEUE, 5, 0), row(5, 2), "The target of broker-a:0 is now 2; the preview showed 0."),
    ("time", ExpectedQueue(QUEUE, 5, 3), row(5, 4), "The target of broker-a:0 is now 4; the preview showed 3."),
    (
        "shift",
        ExpectedQueue(QUEUE, 9, 4),
        row(9, 6, min_offset=6),
        "The messages of broker-a:0 before 6 were deleted, so the target 4 cannot be reached.",
    ),
    ("offset", ExpectedQueue(QUEUE, 9, 5), row(8, 5), "The stored offset of broker-a:0 moved back from 9 to 8."),
    ("offset", ExpectedQueue(QUEUE, 9, 5), row(None, 5), "The stored offset of broker-a:0 moved back from 9 to -1."),
    (
        "shift",
        ExpectedQueue(QUEUE, 1, 4),
        row(5, 8),
        "The stored offset of broker-a:0 passed the target 4: it is now 5.",
    ),
]


@pytest.mark.parametrize(("target", "shown", "now", "sentence"), CHANGED)
def test_a_queue_that_is_no_longer_as_shown_refuses_the_apply(
    target: str, shown: ExpectedQueue, now: PlannedQueue, sentence: str
) -> None:
    refused = refusal(plan(now), action(target, shown, value=5, source_group="other"))
    assert (refused.status, str(refused), refused.hint) == (409, sentence, "Check the new preview and apply again.")
    assert refused.details == NEW_PLAN, "a refusal brings the new plan"


STILL_TRUE: list[tuple[str, ExpectedQueue, PlannedQueue, int]] = [
    ("shift", ExpectedQueue(QUEUE, 9, 4), row(12, 7), 4),  # a commit that only advanced: the target shown counts
    ("shift", ExpectedQueue(QUEUE, 1, 8), row(8, 15), 8),  # and one that just arrived there
    ("offset", ExpectedQueue(QUEUE, None, 5), row(3, 5), 5),
    ("latest", ExpectedQueue(QUEUE, 5, 20), row(7, 30), 30),  # the end moves, and is meant as it is
    ("latest", ExpectedQueue(QUEUE, 5, 20), row(25, 30), 30),
]


@pytest.mark.parametrize(("target", "shown", "now", "offset"), STILL_TRUE)
def test_what_only_went_on_after_the_preview_is_applied(
    target: str, shown: ExpectedQueue, now: PlannedQueue, offset: int
) -> None:
    assert targets_of(plan(now), action(target, shown), lambda _: NEW_PLAN) == {QUEUES[0]: offset}


def test_without_a_preview_the_plan_of_now_is_applied_to_the_chosen_queues() -> None:
    now = plan(row(5, 0), row(5, 0, queue_id=1, selected=False))
    assert targets_of(now, action("earliest"), lambda _: NEW_PLAN) == {QUEUES[0]: 0}


@pytest.mark.parametrize(
    ("now", "wished", "status", "sentence"),
    [
        (
            plan(row(5, 0), refused=Refusal("Members of {group} are online.", "Stop them.", {"group": "g"})),
            action("earliest"),
            409,
            "Members of g are online.",
        ),
        (
            plan(row(5, 0), row(5, 0, queue_id=1)),
            action("earliest", ExpectedQueue(QUEUE, 5, 0)),
            409,
            "The topic has queues that the preview did not show.",
        ),
        (plan(row(None, None)), action("shift", value=1), 409, "No queue has a target offset."),
        (plan(row(5, 9)), action("latest", confirm=None), 422, "4 messages would be skipped permanently."),
        (plan(row(5, 9)), action("latest", confirm="orders"), 422, "4 messages would be skipped permanently."),
    ],
)
def test_a_plan_that_cannot_be_carried_out_as_it_is_refuses_the_apply(
    now: ResetPlan, wished: ResetOffsets, status: int, sentence: str
) -> None:
    refused = refusal(now, wished)
    assert (refused.status, str(refused)) == (status, sentence)
    assert refused.field == ("confirm" if status == 422 else None)


WISH: dict[str, Any] = {"group": GROUP, "topic": TOPIC, "target": "shift", "value": -5, "method": "online"}


@pytest.mark.parametrize(
    "changed",
    [
        {"value": -6},
        {"target": "latest", "value": None},
        {"queues": (QUEUE,)},
        {"method": "offline"},
        {"group": "other"},
        {"topic": "payments"},
        {"target": "copy_of", "value": None, "source_group": "other"},
    ],
)
def test_an_apply_of_another_wish_than_the_previewed_one_is_refused(changed: dict[str, Any]) -> None:
    """Every target may lie where its preview said: only the fingerprint shows that another wish was shown."""
    shown = fingerprint(PlanReset(**WISH))
    assert targets_of(plan(row(5, 0)), ResetOffsets(**WISH, fingerprint=shown), lambda _: NEW_PLAN)
    refused = refusal(plan(row(5, 0)), ResetOffsets(**{**WISH, **changed}, fingerprint=shown))
    assert (refused.status, refused.message) == (409, "The form was changed after this preview.")
    assert refused.details == NEW_PLAN


def test_the_order_in_which_queues_were_chosen_is_no_other_wish() -> None:
    forth, back = [PlanReset(**WISH, queues=queues) for queues in (("b:1", "b:2"), ("b:2", "b:1", "b:2"))]
    assert fingerprint(forth) == fingerprint(back)


POINT = UndoPoint("r7", GROUP, TOPIC, 1_000, {("broker-a", 0): 6, ("broker-a", 1): None, ("broker-z", 0): 3})


def min_offset(mq: MessageQueue) -> int | None:
    """`broker-z` no longer exists."""
    return 2 if mq.broker == "broker-a" else None


def test_an_undo_leads_where_an_offset_was_stored_and_the_queue_still_is() -> None:
    assert checked_point(POINT, "r7", 1_000 + UNDO_MS) is POINT
    assert undo_targets(POINT, min_offset) == {QUEUES[0]: 6}


@pytest.mark.parametrize(
    ("point", "reset_id", "now_ms", "status", "sentence"),
    [
        (None, "r7", 1_000, 404, "Offset reset r7 cannot be undone: not found."),
        (POINT, "r8", 1_000, 404, "Offset reset r8 cannot be undone: not found."),
        (POINT, "r7", 1_001 + UNDO_MS, 409, "The offset reset is older than 24 hours."),
        (
            POINT._replace(before={("broker-a", 0): 1}),
            "r7",
            1_000,
            409,
            "Messages of broker-a:0 before 2 were deleted after the offset reset.",
        ),
        (
            POINT._replace(before={("broker-a", 0): None}),
            "r7",
            1_000,
            409,
            "No offset was stored before that offset reset.",
        ),
    ],
)
def test_an_undo_that_leads_nowhere_is_refused(
    point: UndoPoint | None, reset_id: str, now_ms: int, status: int, sentence: str
) -> None:
    with pytest.raises(ActionRefused) as refused:
        undo_targets(checked_point(point, reset_id, now_ms), min_offset)
    assert (refused.value.status, str(refused.value)) == (status, sentence)
