"""Lab 10: the 20 bytes of a queue entry."""

from sandbox.control.actions import Action, CreateTopic, SendMessages
from sandbox.control.questions import ReadEntry
from sandbox.journal.events import ActionTaken, MessagesFiltered, MessagesStored
from sandbox.kernel.chance import Chance
from sandbox.labs.board import row
from sandbox.labs.evidence import Evidence, Numbers, Seen, last
from sandbox.labs.evidence_measures import sends, stored_by
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Acts, act, send, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Reply, Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import field_of
from sandbox.labs.verdict import Verdict
from sandbox.message.string_hash import tags_code

BROKER = "broker-a"
ENTRY_BYTES = 20
STEMS = ("new", "due", "vip", "gift-", "sent-", "bulk-")  # of which the hash is no negative number


def _draw(chance: Chance) -> dict[str, object]:
    stem = chance.choice(STEMS)
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "other": chance.choice(("invoices", "returns")),
        "before": 11 + chance.below(60),
        "body": 300 + 10 * chance.below(20),
        "tag": f"{stem}Aa",
        "twin": f"{stem}BB",
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    """Return the setup actions.

    The other topic shares the log, so the log position of a message cannot be computed from its queue offset.
    """
    return (
        topic(n, 1),
        CreateTopic(topic=n["other"], write_queues=1, read_queues=1),
        SendMessages(topic=n["other"], count=n["before"], body_bytes=120),
        SendMessages(topic=n["topic"], count=n["before"]),
        member(n, n["tag"], actor="reader", work_ms=(20, 40)),
    )


def _sent(evidence: Evidence) -> Seen[ActionTaken] | None:
    return last(sends(evidence))


def _stored(evidence: Evidence) -> Seen[MessagesStored] | None:
    """Return the event of the step's newest stored message."""
    sent = _sent(evidence)
    return last([] if sent is None else stored_by(evidence, sent))


def _with_tag(evidence: Evidence, tag: str, *others: tuple[str, str]) -> Verdict | Seen[MessagesStored]:
    """Return the stored message of the step, or a verdict that names the mistake.

    `others`: tags of known mistakes, with their sentences.
    """
    sent, stored = _sent(evidence), _stored(evidence)
    if sent is None or stored is None:
        return Verdict.not_yet(_("No message has been sent to {topic} yet."))
    fields, rests_on = sent.event.fields, [sent.seq, stored.seq]
    for other, text in others:
        if fields["tag"] == other:
            return Verdict.wrong(text, tag=tag, rests_on=rests_on)
    if fields["rows"] or fields["tag"] != tag:
        return Verdict.wrong(
            _("The tag of the message is not {tag}. Send another message, with this tag."), tag=tag, rests_on=rests_on
        )
    if (fields["count"] or 1) > 1:
        return Verdict.wrong(BURST, count=fields["count"], rests_on=rests_on)
    return stored


def _is_appended(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if isinstance(stored := _with_tag(evidence, n["tag"], ("", NO_TAG)), Verdict):
        return stored
    return Verdict.met(
        _(
            "The entry of offset {offset} starts at byte {at} of its queue, and its record starts at byte "
            "{physical} of the log."
        ),
        offset=stored.event.first_offset,
        at=stored.event.first_offset * ENTRY_BYTES,
        physical=stored.event.physical_offset,
        rests_on=[stored],
    )


def _next_position(evidence: Evidence) -> Truth:
    """Return the position in bytes of the queue entry of the step's first message, whatever its tag."""
    stored = evidence.of(MessagesStored, topic=evidence.numbers["topic"])
    return Truth(float(stored[0].event.first_offset * ENTRY_BYTES), (stored[0].seq,)) if stored else Truth(0.0)


def _position(evidence: Evidence) -> Truth:
    stored = _stored(evidence)
    return Truth(0.0) if stored is None else Truth(float(stored.event.first_offset * ENTRY_BYTES), (stored.seq,))


def _has_size(evidence: Evidence) -> Verdict:
    n, sent = evidence.numbers, _sent(evidence)
    if isinstance(stored := _with_tag(evidence, n["tag"], ("", NO_TAG)), Verdict):
        return stored
    assert sent is not None
    if (body_bytes := _body_bytes(sent)) != n["body"]:
        return Verdict.wrong(
            _("The body of the message has {given} bytes: send a body of {body} bytes."),
            given=body_bytes,
            rests_on=[sent],
        )
    return Verdict.met(
        _("A body of {body} bytes is stored in a record of {size} bytes."),
        size=stored.event.bytes,
        rests_on=[sent, stored],
    )


def _body_bytes(sent: Seen[ActionTaken]) -> int:
    fields = sent.event.fields
    return int(fields["body_bytes"]) if fields["body"] is None else len(fields["body"].encode())


def _size(evidence: Evidence) -> Truth:
    return field_of(_stored(evidence), "bytes")


def _is_larger(evidence: Evidence) -> Truth:
    size = _size(evidence)
    return Truth("larger" if size.value != float(evidence.numbers["body"]) else "same", size.rests_on)


def _filtered(evidence: Evidence, since: int) -> Seen[MessagesFiltered] | None:
    return last(evidence.of(MessagesFiltered, since=since, group=evidence.numbers["group"]))


def _is_dropped(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if isinstance(stored := _with_tag(evidence, n["twin"], (n["tag"], SAME_TAG)), Verdict):
        return stored
    if (dropped := _filtered(evidence, stored.seq)) is None:
        return Verdict.not_yet(_("reader has not received the message yet."))
    return Verdict.met(
        _("The broker delivered {twin} to reader, and reader dropped it: the hash is the same, the text differs."),
        rests_on=[stored, dropped],
    )


def _where_dropped(evidence: Evidence) -> Truth:
    stored = _stored(evidence)
    dropped = None if stored is None else _filtered(evidence, stored.seq)
    return Truth("broker") if dropped is None else Truth("client", (dropped.seq,))


def _code(evidence: Evidence) -> Truth:
    sent = _sent(evidence)
    return Truth(0.0) if sent is None else Truth(float(tags_code(sent.event.fields["tag"])), (sent.seq,))


def _send(name: str, body: str = "") -> Acts:
    return act(lambda n: SendMessages(topic=n["topic"], tag=n[name], body_bytes=n[body] if body else 200, count=1))


def _read(field: str) -> Reply:
    """Return the reply that reads a field of the newest entry, as the page Store decodes it."""

    def read(hands: Hands) -> str:
        newest = int(row(hands, f"{BROKER}:0")["max"]) - 1
        entry = ReadEntry(topic=hands.numbers["topic"], broker=BROKER, queue_id=0, offset=newest)
        return str(hands.ask(entry)[field])

    return read


SOLUTION = Solution(
    SolvedStep(
        before=wait(2),
        predict=lambda h: h.numbers["before"] * ENTRY_BYTES,
        do=_send("tag"),
        within_s=10,
        say=_read("physical_offset"),
        why="fixed",
    ),
    SolvedStep(predict="larger", do=_send("tag", "body"), within_s=10, say=_read("bytes"), why="whole"),
    SolvedStep(predict="client", do=_send("twin"), within_s=10, say=_read("tags_code"), why="short"),
)


NO_TAG = _("The message has no tag, so the last 8 bytes of its entry are 0. Send another message, with the tag {tag}.")
BURST = _("{count} messages were sent: send only one, so that its entry is the newest.")
IN_QUEUE = _(
    "You wrote {given}: there the entry starts in the queue. The first 8 bytes of the entry are the start of the "
    "record in the log, which also contains other topics."
)
BODY = _(
    "You wrote {given}: that is only the size of the body. Bytes 9 to 12 of the entry contain the size of the "
    "whole record."
)
SAME_TAG = _("reader subscribes to that tag, so nothing is dropped. Send a message with the tag {tag}.")
LOST = _("The message is in the store like every other message: you can read its entry and its record.")

QUEUE_ENTRY = Lab(
    slug="queue-entry",
    number="10",
    minutes=8,
    title=_("Twenty bytes for each message"),
    goal=_("A broker finds one message of a billion without a search. A small entry for each message is enough."),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"SendMessages"}),
    steps=(
        Step(
            title=_("Start of the entry"),
            do=_(
                "Send one message with the tag {tag} to {topic}. Then open the Store page and click its entry in "
                "{topic}/0."
            ),
            watch=_("The first 8 bytes of the entry, and what they point to."),
            mark="queue:broker-a:0",
            page="store/?queue={topic}/0",
            predict=Question(
                text=_(
                    "q0 has {before} messages, at offsets from 0. At which byte of the queue will the entry of "
                    "the next one start?"
                ),
                kind=Number(_("bytes")),
                right=_next_position,
            ),
            check=_is_appended,
            say=Question(
                text=_(
                    "At which byte of the log does the record of the message start? Decode the first 8 bytes of "
                    "the entry."
                ),
                kind=Number(_("bytes")),
                right=lambda e: field_of(_stored(e), "physical_offset"),
                again=_(
                    "You wrote {given}; click the newest entry of {topic}/0 on the Store page, and read the "
                    "first of its three numbers."
                ),
                misreadings=(Misreading(IN_QUEUE, lambda e, answer: answer == _position(e).value),),
            ),
            why=Question(
                text=_("How does the broker find the entry of an offset?"),
                kind=choice(
                    fixed=_("It computes the position: every entry has 20 bytes."),
                    search=_("It scans the queue from its beginning."),
                    index=_("It looks the offset up in the index."),
                ),
                right=lambda e: Truth("fixed"),
                again=_(
                    "The broker needs neither a search nor an index: divide the position of an entry by its offset."
                ),
            ),
            hints=(_("An entry has 20 bytes: 8 for the position, 4 for the size, 8 for the hash."),),
        ),
        Step(
            title=_("Size of the record"),
            do=_("Send one message with the tag {tag} and a body of {body} bytes, and click its entry."),
            watch=_("Bytes 9 to 12 of the entry, then the record that it points to."),
            mark="queue:broker-a:0",
            page="store/?queue={topic}/0",
            predict=Question(
                text=_("Which size will be stored in the entry?"),
                kind=choice(
                    same=_("{body} bytes, like the body"),
                    larger=_("more than {body}"),
                    entry=_("20 bytes, like every entry"),
                ),
                right=_is_larger,
            ),
            check=_has_size,
            say=Question(
                text=_("Which size is stored in the entry of the message?"),
                kind=Number(_("bytes")),
                right=_size,
                again=_("You wrote {given}; read the second of the three numbers in the newest entry."),
                misreadings=(Misreading(BODY, lambda e, answer: answer == e.numbers["body"]),),
            ),
            why=Question(
                text=_("What does the record contain besides the body?"),
                kind=choice(
                    whole=_("fixed-size fields, topic and properties"),
                    padding=_("zeros up to the next multiple of 512"),
                    copy=_("a copy of the entry"),
                ),
                right=lambda e: Truth("whole"),
                again=_("Click the record to list its fields one by one."),
            ),
            hints=(_("Click the record on the Store page: each field is shown."),),
        ),
        Step(
            title=_("A hash is not the tag"),
            do=_(
                "reader subscribes to the tag {tag}. Send one message with the tag {twin}, which has the same hash, "
                "and click its entry."
            ),
            watch=_("The last 8 bytes of both entries, then the newest rows on the Journal page."),
            mark="queue:broker-a:0",
            page="store/?queue={topic}/0",
            predict=Question(
                text=_("What prevents {twin} from reaching the listener of reader?"),
                kind=choice(
                    broker=_("the broker: it reads the tag from the record"),
                    client=_("reader: the broker compares only hashes"),
                    nobody=_("nothing: the listener receives it"),
                ),
                right=_where_dropped,
            ),
            check=_is_dropped,
            say=Question(
                text=_("Which hash is stored in the entry? Decode its last 8 bytes."),
                kind=Number(),
                right=_code,
                again=_("You wrote {given}; read the last of the three numbers in the newest entry."),
            ),
            why=Question(
                text=_("Why does the broker compare hashes?"),
                kind=choice(
                    short=_("It reads 20 bytes for each message, and no records."),
                    secret=_("The broker cannot read tags."),
                    lost=_("A message is lost if its tag has the same hash."),
                ),
                right=lambda e: Truth("short"),
                again=_("Every reader of a record sees its tag, but the broker reads an entry without the record."),
                misreadings=(Misreading(LOST, chosen("lost")),),
            ),
            hints=(_("Two texts can have the same hash, like {tag} and {twin}."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("no tag", "every entry has a hash", NO_TAG).at(
            1, predict=lambda h: h.numbers["before"], do=send()
        ),
        SOLUTION.wrong("queue position", "queue and log have the same positions", IN_QUEUE).at(
            1, say=lambda h: h.numbers["before"] * ENTRY_BYTES
        ),
        SOLUTION.wrong("body", "the size is the size of the body", BODY).at(2, say=lambda h: h.numbers["body"]),
        SOLUTION.wrong("keeps the tag", "the entry contains the tag itself", SAME_TAG).at(3, do=_send("tag")),
        SOLUTION.wrong("lost", "two tags with the same hash cannot be distinguished", LOST).at(3, why="lost"),
    ),
)
