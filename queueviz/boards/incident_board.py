"""The incident of a sandbox with its markers, above the Board at a past event."""

from typing import TypedDict
from urllib.parse import urlencode

from django.utils.translation import gettext

from queueviz.boards.page import Context
from queueviz.refusal_texts import filled
from sandbox.hosting.incident_notes import Noted
from sandbox.labs.catalogue import LABS
from sandbox.labs.incidents.incident import Incident


class LabLink(TypedDict):
    """The lab that explains an incident."""

    address: str
    title: str


class IncidentTexts(TypedDict):
    """An incident in the reader's language."""

    slug: str
    title: str
    complaint: str
    circumstance: str
    symptom: str
    cause: str
    mend: str
    until_ms: int
    lab: LabLink
    markers: int


class MarkerNote(TypedDict):
    """A marker found in the journal."""

    seq: int
    number: int
    title: str
    text: str
    question: str
    address: str


class ShownIncident(IncidentTexts):
    """The incident of a sandbox with its markers so far."""

    notes: list[MarkerNote]


def incident_texts(incident: Incident, labs: str) -> IncidentTexts:
    """Return the incident's texts in the reader's language, and the lab that explains it.

    `labs`: address of all labs.
    """
    lab = LABS[incident.lab]
    return {
        "slug": incident.slug,
        "title": gettext(incident.title),
        "complaint": gettext(incident.complaint),
        "circumstance": gettext(incident.circumstance),
        "symptom": gettext(incident.symptom),
        "cause": gettext(incident.cause),
        "mend": gettext(incident.mend),
        "until_ms": incident.until_ms,
        "lab": {"address": f"{labs}#lab-{lab.slug}", "title": gettext(lab.title)},
        "markers": len(incident.markers),
    }


def shown_incident(incident: Incident, noted: Noted, *, root: str, labs: str) -> ShownIncident:
    """Return the incident with the markers reached so far.  `root`: address of the sandbox."""
    notes: list[MarkerNote] = [
        {
            "seq": note.seq,
            "number": number,
            "title": gettext(note.title),
            "text": filled(note.text, note.values),
            "question": gettext(note.question) if note.question else "",
            "address": _address(root, incident, note.seq),
        }
        for number, note in enumerate(noted.notes, start=1)
    ]
    return {**incident_texts(incident, labs), "notes": notes}


def first_address(root: str, incident: Incident, noted: Noted) -> str:
    """Return the address of the Board at the first marker, or of the sandbox if it has no marker yet."""
    return _address(root, incident, noted.notes[0].seq) if noted.notes else root


def incident_values(shown: ShownIncident | None, at: int) -> Context:
    """Return the template values of the incident at event `at`, with the last marker at or before it."""
    notes = shown["notes"] if shown is not None else []
    return {"incident": shown, "current": next((note for note in reversed(notes) if note["seq"] <= at), None)}


def _address(root: str, incident: Incident, seq: int) -> str:
    return f"{root}?{urlencode({'group': incident.group, 'topic': incident.topic, 'at': seq})}"
