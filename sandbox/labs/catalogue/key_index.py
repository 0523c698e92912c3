"""Lab 9: the search from a key to its messages, through slot, chain and log."""

from typing import Any

from sandbox.control.actions import Action, SendMessages
from sandbox.control.questions import WalkIndex
from sandbox.journal.events import ActionTaken
from sandbox.kernel.chance import Chance
from sandbox.labs.board import row
from sandbox.labs.evidence import Evidence, Numbers, Seen, last
from sandbox.labs.evidence_measures import keys_of, records_of, sends, stored_by
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Acts, act, send, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import field_of
from sandbox.labs.verdict import Verdict
from sandbox.message.string_hash import index_key_hash

HEADER_BYTES, SLOT_BYTES = 40, 4
SLOTS = 97  # of an index file, with the preset of this lab


def _draw(chance: Chance) -> dict[str, object]:
    stem = f"order-{10 + chance.below(90)}"
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "before": 8 + chance.below(20),
        "key": f"{stem}-Aa",
        "twin": f"{stem}-BB",
        "times": 2 + chance.below(4),
        "slots": SLOTS,
    }


def _derive(n: Numbers) -> dict[str, object]:
    return {"hash": index_key_hash(f"{n['topic']}#{n['key']}")}


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, 1),
        SendMessages(topic=n["topic"], count=n["before"], key="open-{n}"),
        member(n, actor="reader", work_ms=(20, 40)),
    )


def _with_key(evidence: Evidence, name: str) -> list[Seen[ActionTaken]]:
    """Return the step's sends of messages with that key only."""
    return [entry for entry in sends(evidence) if set(keys_of(entry)) == {evidence.numbers[name]}]


def _times(evidence: Evidence, name: str, *, since: int | None = None) -> tuple[float, tuple[int, ...]]:
    """Count the stored messages with the key; return also the events that record them."""
    records = records_of(evidence, evidence.numbers[name], since)
    return float(len(records)), tuple(row.seq for row in records.values())


def _missing(evidence: Evidence, name: str) -> Verdict:
    """Return the verdict if no message was sent with the key of the step: none at all, or with another key."""
    n, sent = evidence.numbers, sends(evidence)
    if not sent:
        return Verdict.not_yet(_("No message has been sent to {topic} yet."))
    key = keys_of(sent[-1])[0]
    if name == "twin" and key == n["key"]:
        return Verdict.wrong(SAME_KEY, rests_on=[sent[-1]])
    return Verdict.wrong(OTHER_KEY, given=key or "-", key=n[name], rests_on=[sent[-1]])


def _is_indexed(evidence: Evidence) -> Verdict:
    if not _with_key(evidence, "key"):
        return _missing(evidence, "key")
    times, seqs = _times(evidence, "key")
    if not times:
        return Verdict.not_yet(_("{key} has not been stored yet."))
    slot = _slot(evidence)
    return Verdict.met(
        _("{key} is in slot {slot}: the remainder of {hash} divided by {slots}."), slot=f"{slot.value:g}", rests_on=seqs
    )


def _slot(evidence: Evidence) -> Truth:
    return Truth(float(evidence.numbers["hash"] % SLOTS), _times(evidence, "key", since=0)[1])


def _slot_position(evidence: Evidence) -> Truth:
    slot = evidence.numbers["hash"] % SLOTS
    return Truth(float(HEADER_BYTES + slot * SLOT_BYTES), _times(evidence, "key", since=0)[1])


def _is_chained(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if not _with_key(evidence, "key"):
        return _missing(evidence, "key")
    times, seqs = _times(evidence, "key")
    if times < n["times"]:
        return Verdict.not_yet(_("{key} has been stored {now} of {times} times in this step."), now=f"{times:g}")
    everywhere, all_seqs = _times(evidence, "key", since=0)
    return Verdict.met(
        _("There is one slot, and a search for {key} finds all {count} messages."),
        count=f"{everywhere:g}",
        rests_on=(*seqs, *all_seqs),
    )


def _found(evidence: Evidence) -> Truth:
    return Truth(*_times(evidence, "key", since=0))


def _slot_of_twin(evidence: Evidence) -> Truth:
    n = evidence.numbers
    is_same = index_key_hash(f"{n['topic']}#{n['twin']}") % SLOTS == n["hash"] % SLOTS
    return Truth("same" if is_same else "another", _times(evidence, "twin")[1])


def _newest_physical(evidence: Evidence) -> Truth:
    sent = _with_key(evidence, "key")
    return field_of(last(stored_by(evidence, sent[-1]) if sent else []), "physical_offset")


def _newest_offset(evidence: Evidence) -> float:
    return float(max(records_of(evidence, evidence.numbers["key"], since=0), default=0))


def _collides(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if not _with_key(evidence, "twin"):
        return _missing(evidence, "twin")
    times, seqs = _times(evidence, "twin")
    if not times:
        return Verdict.not_yet(_("{key} has not been stored yet."), key=n["twin"])
    return Verdict.met(
        _(
            "{twin} has the same hash as {key} and so the same slot. A search for {key} discards it when it "
            "reads the record."
        ),
        rests_on=(*seqs, *_found(evidence).rests_on),
    )


def _send(name: str, times: str = "") -> Acts:
    return act(lambda n: SendMessages(topic=n["topic"], count=n[times] if times else 1, key=n[name])), wait(1)


def _walked(hands: Hands) -> dict[str, Any]:
    """Return the newest index file of the lookup that the page Index shows."""
    walk = hands.ask(WalkIndex(topic=hands.numbers["topic"], key=hands.numbers["key"]))
    return dict(walk["files"][0])


SOLUTION = Solution(
    SolvedStep(
        before=wait(2),
        predict="slot",
        do=_send("key"),
        within_s=10,
        say=lambda h: str(_walked(h)["slot_position"]),
        why="newest",
    ),
    SolvedStep(
        predict=lambda h: 1 + h.numbers["times"],
        do=_send("key", "times"),
        within_s=10,
        say=lambda h: next(str(step["physical"]) for step in _walked(h)["chain"] if step["verdict"] == "match"),
        why="previous",
    ),
    SolvedStep(
        predict="same",
        do=_send("twin"),
        within_s=10,
        say=lambda h: sum(step["verdict"] == "other_key" for step in _walked(h)["chain"]),
        why="record",
    ),
)


OTHER_KEY = _(
    "The key of the message is {given}. The index contains the keys that messages are sent with, not their "
    "bodies: send a message with the key {key}."
)
HEADER = _("You wrote {given}: a slot has 4 bytes, but a header of 40 bytes precedes slot 0.")
OFFSET = _("You wrote {given}: that is its offset in q0. An index entry points into the log, not into a queue.")
SAME_KEY = _("That is {key} again: the same key is not a collision. Send a message with the key {twin}.")
NONE_REJECTED = _(
    "You wrote {given}: the index contains the hash of a key, not its text, so it cannot distinguish {twin} from "
    "{key}. Repeat the walk, and count the entries whose record has another key."
)
IN_INDEX = _("An entry has no room for a key: 4 bytes of hash, 8 of position, 4 of time and 4 for the previous entry.")

KEY_INDEX = Lab(
    slug="key-index",
    number="9",
    minutes=9,
    preset="teaching",
    title=_("Message search by key"),
    goal=_("A search by key reads a few entries, not millions of messages. How does it know where to begin?"),
    draw=_draw,
    derive=_derive,
    setup=_setup,
    allowed=frozenset({"SendMessages"}),
    steps=(
        Step(
            title=_("The slot of a key"),
            do=_("Send one message with the key {key} to {topic}, then walk to {key} on the Index page."),
            watch=_("The stops of the walk: hash, slot, and the position of the slot in the file."),
            mark="queue:broker-a:0",
            page="index/?topic={topic}&key={key}",
            predict=Question(
                text=_("{before} messages with other keys are in the index. Where will the search for {key} begin?"),
                kind=choice(
                    slot=_("at one slot, whose number it computes from the key"),
                    newest=_("at the newest entry of the file, and goes back from there"),
                    log=_("at the oldest message of the log"),
                ),
                right=lambda e: Truth("slot", _times(e, "key", since=0)[1]),
            ),
            check=_is_indexed,
            say=Question(
                text=_("At which byte of the file does this slot start?"),
                kind=Number(_("bytes")),
                right=_slot_position,
                again=_("You wrote {given}; read the position of the slot on the Index page again."),
                misreadings=(
                    Misreading(
                        HEADER,
                        lambda e, answer: answer in (_slot(e).value, float(e.numbers["hash"] % SLOTS * SLOT_BYTES)),
                    ),
                ),
            ),
            why=Question(
                text=_("What do the 4 bytes of a slot contain?"),
                kind=choice(
                    newest=_("the number of its newest entry"),
                    hash=_("the hash of its key"),
                    place=_("the position of the message in the log"),
                ),
                right=lambda e: Truth("newest"),
                again=_("Follow the walk from the slot to the first entry: which value leads there?"),
            ),
            hints=(
                _("The file has {slots} slots, and a key has a hash, which is a number."),
                _("40 bytes of header, then 4 bytes for each slot."),
            ),
        ),
        Step(
            title=_("One slot, many messages"),
            do=_("Send {key} another {times} times, then walk to {key} again."),
            watch=_("The chain of entries, the newest first."),
            mark="queue:broker-a:0",
            page="index/?topic={topic}&key={key}",
            predict=Question(
                text=_("A slot holds one number. How many messages will a search for {key} find?"),
                kind=Number(_("messages")),
                right=_found,
            ),
            check=_is_chained,
            say=Question(
                text=_("To which byte of the log does the newest entry of {key} point?"),
                kind=Number(_("bytes")),
                right=_newest_physical,
                again=_("You wrote {given}; read the log position of the first entry that matches."),
                misreadings=(Misreading(OFFSET, lambda e, answer: answer == _newest_offset(e)),),
            ),
            why=Question(
                text=_("How does the search get to the older entries?"),
                kind=choice(
                    previous=_("Each entry has the number of the previous entry in its slot."),
                    next=_("They are in the neighboring slots."),
                    log=_("It reads the log backward from the newest message."),
                ),
                right=lambda e: Truth("previous"),
                again=_("Read the last 4 bytes of the newest entry: which entry do they point to?"),
            ),
            hints=(_("An entry that a newer one replaced in the slot is still in the file."),),
        ),
        Step(
            title=_("Another key"),
            do=_("Send one message with the key {twin}. Then walk to {key} once more."),
            watch=_("The last stop: the key in the record."),
            mark="queue:broker-a:0",
            page="index/?topic={topic}&key={key}",
            predict=Question(
                text=_("{twin} is another key than {key}. In which slot will its entry be?"),
                kind=choice(same=_("in the same slot"), another=_("in another slot")),
                right=_slot_of_twin,
            ),
            check=_collides,
            say=Question(
                text=_("How many entries have the right hash but point to a record with another key?"),
                kind=Number(_("entries")),
                right=lambda e: Truth(*_times(e, "twin", since=0)),
                again=_("You wrote {given}; walk to {key} once more and count the entries that lead to another key."),
                misreadings=(Misreading(NONE_REJECTED, lambda e, answer: answer == 0.0),),
            ),
            why=Question(
                text=_("Where does the search detect that {twin} is not {key}?"),
                kind=choice(
                    record=_("at the record: the search reads and compares its key"),
                    index=_("in the index: an entry contains the key"),
                    slot=_("at the slot: each key has its own slot"),
                ),
                right=lambda e: Truth("record"),
                again=_("Both have the same hash, so both have the same slot."),
                misreadings=(Misreading(IN_INDEX, chosen("index")),),
            ),
            hints=(_("Two texts have the same hash if they end in Aa and BB and are otherwise equal."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("no key", "every message can be found by key", OTHER_KEY).at(1, predict="newest", do=send()),
        SOLUTION.wrong("slot", "the file starts with slot 0", HEADER).at(
            1, say=lambda h: SLOT_BYTES * int(_walked(h)["slot"])
        ),
        SOLUTION.wrong("offset", "the index points into a queue", OFFSET).at(
            2, say=lambda h: int(row(h, "broker-a:0")["max"]) - 1
        ),
        SOLUTION.wrong("key again", "a key met twice is a collision", SAME_KEY).at(3, do=_send("key")),
        SOLUTION.wrong("trusts the index", "the index contains the text of a key", NONE_REJECTED).at(3, say=0),
    ),
)
