"""The invariant that acknowledged messages are stored, as durably as the flush mode guarantees."""

from sandbox.journal.events import UnflushedLost
from sandbox.simulation.observed import Ack, Inventory, Observed, PowerLoss
from sandbox.simulation.violation import Violation

SEND_OK = 0


def check_stored(observed: Observed) -> list[Violation]:
    """Return violations by acknowledged messages that are missing, and by power cuts that lost too much.

    Source: spec broker-behaviour 2 and 11, store-format 7.
    """
    violations = [
        violation
        for loss in observed.losses
        for violation in (*_cut_too_deep(observed, loss), *_check_report(observed, loss))
    ]
    violations += _not_replicated(observed)
    for ack in observed.acks:
        inventory = observed.final.masters.get(ack.queue.broker)
        if inventory is None or _holds(inventory, ack):
            continue
        cut = next(
            (
                loss
                for loss in observed.losses
                if loss.at_ms >= ack.at_ms
                and loss.node == ack.node
                and _holds(loss.before, ack)
                and not _holds(loss.after, ack)
            ),
            None,
        )
        if cut is None:
            violations.append(
                Violation("stored", f"{_name(ack)} was acknowledged at {ack.at_ms} and is not in its queue")
            )
    return violations


def _cut_too_deep(observed: Observed, loss: PowerLoss) -> list[Violation]:
    """Return a violation for each message that the power cut lost although it was flushed.

    Flushed bytes survive a power cut, and with SYNC_FLUSH a message with SEND_OK was flushed.
    """
    violations = [
        Violation(
            "stored",
            (
                f"{stored.key} ({stored.queue.key}@{stored.offset}) was flushed to {loss.before.flushed_to} "
                f"and lost when {loss.node}'s power went at {loss.at_ms}"
            ),
        )
        for stored in (*loss.lost(), *loss.torn())
        if stored.physical_offset + stored.store_bytes <= loss.before.flushed_to
    ]
    if observed.setup.flush == "SYNC_FLUSH":
        violations += [
            Violation(
                "stored",
                (f"{_name(ack)} got SEND_OK with SYNC_FLUSH and was lost with {loss.node}'s power at {loss.at_ms}"),
            )
            for ack in observed.acks
            if ack.node == loss.node
            and ack.code == SEND_OK
            and ack.at_ms <= loss.at_ms
            and _holds(loss.before, ack)
            and not _holds(loss.after, ack)
        ]
    return violations


def _check_report(observed: Observed, loss: PowerLoss) -> list[Violation]:
    """Return violations by the `UnflushedLost` of a power cut.

    The event must list exactly the messages missing at the next start, and count those that got SEND_OK.
    """
    reported = next(
        (
            entry.event
            for entry in observed.entries
            if isinstance(entry.event, UnflushedLost) and entry.event.broker == loss.node and entry.at_ms == loss.at_ms
        ),
        None,
    )
    if reported is None:
        return [Violation("stored", f"no UnflushedLost for the power cut of {loss.node} at {loss.at_ms}")]
    gone = loss.lost()
    codes = {
        ack.physical_offset: ack.code
        for ack in observed.acks  # the last: positions may be assigned again
        if ack.node == loss.node and ack.at_ms <= loss.at_ms
    }
    answered = sum(codes.get(stored.physical_offset) == SEND_OK for stored in gone)
    outside = [stored for stored in gone if not reported.from_offset <= stored.physical_offset < reported.to_offset]
    if reported.messages != len(gone) or reported.answered < answered or outside:
        return [
            Violation(
                "stored",
                (
                    f"{loss.node} lost {len(gone)} messages at {loss.at_ms}, {answered} of them with SEND_OK, "
                    f"{len(outside)} outside the range reported; reported were {reported}"
                ),
            )
        ]
    return []


def _not_replicated(observed: Observed) -> list[Violation]:
    """Return a violation for each message with SEND_OK from a SYNC_MASTER that no slave has.

    Source: spec broker-behaviour 12.  Checked when the master loses power, and at the end.  Not checked after a
    slave lost its own page cache, from which it had acknowledged, nor for a slave that has more than its master (see
    `Observed.diverged`).
    """
    diverged = observed.diverged()
    if observed.setup.replication != "SYNC_MASTER":
        return []
    violations: list[Violation] = []
    looks = [(loss.node, loss.at_ms, loss.slaves) for loss in observed.losses if loss.node in observed.setup.slaves]
    looks += [
        (
            name,
            observed.final.at_ms,
            tuple(
                slave
                for slave in observed.final.slaves.values()
                if slave.node not in diverged and slave.node.startswith(f"{name}.")
            ),
        )
        for name in observed.setup.slaves
    ]
    for name, at_ms, slaves in looks:
        began_ms = max(
            (loss.at_ms for loss in observed.losses if loss.node.partition(".")[0] == name and loss.at_ms < at_ms),
            default=0,
        )
        violations += [
            Violation("stored", f"{_name(ack)} got SEND_OK with SYNC_MASTER and no slave had it at {at_ms}")
            for ack in observed.acks
            if slaves
            and ack.node == name
            and ack.code == SEND_OK
            and began_ms < ack.at_ms <= at_ms
            and not any(_holds(slave, ack) for slave in slaves)
        ]
    return violations


def _holds(inventory: Inventory, ack: Ack) -> bool:
    """Return True if the message is where the answer reported it.

    A delayed or half message has its offset in the queue where it waits, beside the queue it was sent to.  A message
    that retention has deleted from the log counts as stored.
    """
    if ack.physical_offset < inventory.log_begins:
        return True
    stored = inventory.by_position.get(ack.physical_offset)
    if stored is None or stored.offset != ack.offset or not (stored.queue == ack.queue or stored.real_topic):
        return False
    return ack.unique_key in ("", stored.unique_key)


def _name(ack: Ack) -> str:
    return f"{ack.unique_key or 'a message'} ({ack.queue.key}@{ack.offset}, {ack.physical_offset} in the log)"
