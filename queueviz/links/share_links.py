"""Revocable links of a sandbox: to a range of its events as a recording, to the live sandbox, or to a branch.

The content of a range link is fixed when the link is made.  The recording holds its range and nothing else, so no
request made with the link can show more.  Recordings are in `shares/` of the data home, beside the sandboxes.  Live
and fork links lead to the sandbox itself, and end when it is made private.
"""

import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, cast

from django.conf import settings
from django.utils import timezone

from queueviz import engine
from queueviz.access import policy
from queueviz.access.database_limits import one_at_a_time
from queueviz.access.digests import digest
from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor
from queueviz.live.hubs import rights_changed
from queueviz.models import Grant, Sandbox
from queueviz.sandboxes import ownership
from queueviz.whole_numbers import whole
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused

LIMITS = HostLimits()
SECRET_BYTES = 24
LABEL_CHARS = 80
LIVES_DAYS = (1, 7, 30, 90)
LISTED = timedelta(days=90)  # after it was revoked or has expired
USED_NOTED_EVERY = timedelta(minutes=1)
GUESSES = Rate(LIMITS.unknown_links_per_s, LIMITS.unknown_links, what="links")
ENDED = "This share link is unknown, revoked or expired."
NOTE_MARK = "#"
LIVE, FORK, RANGE = Grant.Kind.LIVE, Grant.Kind.FORK, Grant.Kind.SHARE
FAILED = "failed"  # in `Grant.shows`, beside what it shows
SEQS = ("first", "last", "at")  # of what a link shows, in the audit


class Seqs(TypedDict, total=False):
    """The events a link shows."""

    first: int
    last: int
    at: int


class Note(NamedTuple):
    """A note of the author at an event; the player pauses there."""

    seq: int
    text: str


class Shown(NamedTuple):
    """The range of a link: events `first` to `last`, opened at `at`."""

    first: int
    last: int
    at: int
    language: str
    notes: tuple[Note, ...]

    def row(self) -> dict[str, object]:
        return {**self._asdict(), "notes": [note._asdict() for note in self.notes]}


class Share(NamedTuple):
    """A share link, valid or ended."""

    grant: Grant

    @property
    def kind(self) -> str:
        return self.grant.kind

    @property
    def shown(self) -> Shown:
        """The events that a range link shows."""
        row = self.grant.shows
        notes = tuple(Note(**note) for note in row["notes"])
        return Shown(row["first"], row["last"], row["at"], row["language"], notes)

    @property
    def at(self) -> int:
        """The event of a fork link: a branch is the same run up to this event."""
        return int(self.grant.shows["at"])

    @property
    def sandbox(self) -> Sandbox:
        return self.grant.sandbox

    @property
    def file(self) -> Path:
        return directory() / f"{self.grant.digest}.qvr"

    @property
    def is_ready(self) -> bool:
        return self.file.exists()

    @property
    def has_failed(self) -> bool:
        """True if the recording could not be made."""
        return bool(self.grant.shows.get(FAILED))

    @property
    def is_good(self) -> bool:
        now = timezone.now()
        return self.grant.revoked_at is None and (self.grant.expires_at is None or self.grant.expires_at > now)


def directory() -> Path:
    return Path(settings.QUEUEVIZ_HOME) / "shares"


def make(visitor: Visitor, sandbox: Sandbox, shown: Shown, *, label: str, days: int) -> str:
    """Make a new link to a range and return its secret, which is not stored.

    Raises ActionRefused: 422 an invalid range, 429 too many.
    """
    demand_range(sandbox, shown)
    return _make(visitor, sandbox, RANGE, shown.row(), label, days)


def make_live(visitor: Visitor, sandbox: Sandbox, *, label: str, days: int) -> str:
    """Make a link to the live sandbox and return its secret, as `make` does.

    Raises ActionRefused (409) for a private sandbox.
    """
    _demand_open(sandbox)
    return _make(visitor, sandbox, LIVE, {}, label, days)


def make_fork(visitor: Visitor, sandbox: Sandbox, at: int, *, label: str, days: int) -> str:
    """Make a link for branches from event `at` and return its secret, as `make_live` does."""
    _demand_open(sandbox)
    if at > newest(sandbox.slug):
        raise ActionRefused(
            422, "Event {seq} has not happened yet.", "Choose an event that has happened.", field="at", seq=at
        )
    return _make(visitor, sandbox, FORK, {"at": at}, label, days)


def _demand_open(sandbox: Sandbox) -> None:
    if sandbox.visibility == Sandbox.Visibility.PRIVATE:
        raise ActionRefused(
            409,
            "This sandbox is private: only a range of it can be shared.",
            "Allow others to watch the sandbox in the settings, or share a range.",
            field="kind",
        )


def _make(visitor: Visitor, sandbox: Sandbox, kind: Grant.Kind, shows: dict[str, object], label: str, days: int) -> str:
    if days not in LIVES_DAYS:
        raise ActionRefused(
            422,
            "A share link is valid for {days} days.",
            "Choose one of these values.",
            field="days",
            days=", ".join(map(str, LIVES_DAYS)),
        )
    secret = secrets.token_urlsafe(SECRET_BYTES)
    with one_at_a_time(f"grants of {sandbox.slug}"):
        if _links(sandbox).filter(policy.live_grants(timezone.now())).count() >= LIMITS.share_links_per_sandbox:
            raise ActionRefused(
                429,
                "This sandbox already has {allowed} share links.",
                "Revoke a share link first.",
                allowed=LIMITS.share_links_per_sandbox,
            )
        Grant.objects.create(
            sandbox=sandbox,
            kind=kind,
            role="viewer",
            digest=digest(secret),
            label=label[:LABEL_CHARS],
            shows=shows,
            expires_at=timezone.now() + timedelta(days=days),
        )
    seqs = cast(Seqs, {name: shows[name] for name in SEQS if name in shows})
    ownership.record(visitor, "share", sandbox.slug, kind=kind.value, **seqs)
    return secret


def find(visitor: Visitor, secret: str) -> Share:
    """Return the valid link with this secret.

    Raises `policy.NotFound`, or ActionRefused (429) after many guesses.
    """
    good = policy.live_grants(timezone.now())
    grant = Grant.objects.select_related("sandbox").filter(good, kind__in=Grant.LINKS, digest=digest(secret)).first()
    if grant is None or policy.has_expired(grant.sandbox) or _is_shut(grant):
        GUESSES.demand(visitor.address)
        raise policy.NotFound(ENDED)
    return Share(grant)


def _is_shut(grant: Grant) -> bool:
    return grant.kind in Grant.TO_SANDBOX and grant.sandbox.visibility == Sandbox.Visibility.PRIVATE


def note_use(share: Share) -> None:
    """Record that the link is opened now, to the minute."""
    now = timezone.now()
    if share.grant.used_at is None or now - share.grant.used_at > USED_NOTED_EVERY:
        Grant.objects.filter(pk=share.grant.pk).update(used_at=now)


def note_failed(share: Share) -> None:
    """Record that the link's recording could not be made."""
    Grant.objects.filter(pk=share.grant.pk).update(shows=share.grant.shows | {FAILED: True})


def revoke(visitor: Visitor, sandbox: Sandbox, key: int) -> None:
    """Revoke the link, delete its recording, and close its sockets."""
    for grant in _links(sandbox).filter(pk=key, revoked_at__isnull=True):
        Grant.objects.filter(pk=grant.pk).update(revoked_at=timezone.now())
        Share(grant).file.unlink(missing_ok=True)
        ownership.record(visitor, "unshare", sandbox.slug)
        rights_changed(sandbox.slug)


def listed(sandbox: Sandbox) -> list[Share]:
    """Return the links of a sandbox, the newest first.  Ended links are listed for 90 days."""
    since = timezone.now() - LISTED
    kept = _links(sandbox).exclude(revoked_at__lt=since).exclude(expires_at__lt=since)
    return [Share(grant) for grant in kept.select_related("sandbox").order_by("-pk")]


def sweep() -> None:
    """Delete recordings whose link is not valid any more, or whose sandbox is deleted."""
    good = Grant.objects.filter(policy.live_grants(timezone.now()), kind=RANGE)
    kept = set(good.values_list("digest", flat=True))
    for file in directory().glob("*.qvr"):
        if file.stem not in kept:
            file.unlink(missing_ok=True)


def notes_of(text: str) -> tuple[Note, ...]:
    """Return the notes of a text with one note per line, as `#18402 Who will take q6?`.  Raises ActionRefused (422)."""
    notes = []
    for line in filter(None, map(str.strip, text.splitlines())):
        number, _, note_text = line.removeprefix(NOTE_MARK).partition(" ")
        seq = whole(number)
        if seq is None or not note_text.strip():
            raise ActionRefused(
                422,
                "A note is a line with an event number and a text.",
                "Example: #18402 Which member acquires q6?",
                field="notes",
            )
        notes.append(Note(seq, note_text.strip()))
    return tuple(sorted(notes))


def newest(slug: str) -> int:
    """Return the number of the sandbox's newest event."""
    return engine.answer(engine.port().newest_seq(slug))


def demand_range(sandbox: Sandbox, shown: Shown) -> None:
    if not 0 <= shown.first < shown.last:
        raise ActionRefused(
            422, "A range must begin before it ends.", "Choose a first event below the last event.", field="first"
        )
    if shown.last - shown.first > LIMITS.share_events:
        raise ActionRefused(
            422, "A range has at most {most} events.", "Share a shorter range.", field="last", most=LIMITS.share_events
        )
    if shown.last > newest(sandbox.slug):
        raise ActionRefused(
            422,
            "Event {seq} has not happened yet.",
            "Choose a last event that has happened.",
            field="last",
            seq=shown.last,
        )
    if not shown.first <= shown.at <= shown.last:
        raise ActionRefused(
            422,
            "A share link must open at an event of its range.",
            "Choose an event from {first} to {last}.",
            field="at",
            first=shown.first,
            last=shown.last,
        )
    if len(shown.notes) > LIMITS.share_notes or any(len(note.text) > LIMITS.share_note_chars for note in shown.notes):
        raise ActionRefused(
            422,
            "A share link has at most {most} notes of at most {chars} characters.",
            "Shorten the notes.",
            field="notes",
            most=LIMITS.share_notes,
            chars=LIMITS.share_note_chars,
        )


def _links(sandbox: Sandbox) -> Any:
    return sandbox.grants.filter(kind__in=Grant.LINKS)
