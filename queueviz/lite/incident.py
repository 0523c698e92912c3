"""The incident with which a sandbox in the browser began, and its markers in the journal."""

from pathlib import Path

from queueviz.boards import incident_board
from queueviz.boards.incident_board import ShownIncident
from queueviz.lite.addresses import Addresses
from sandbox.hosting.incident_notes import Noted, incident_of, noted
from sandbox.labs.incidents.incident import Incident


class SandboxIncident:
    """The incident of the sandbox in `directory`, if it has one."""

    def __init__(self, directory: Path, addresses: Addresses) -> None:
        self._directory = directory
        self._addresses = addresses
        self._known: tuple[Incident, Noted] | None = None

    def shown(self) -> ShownIncident | None:
        """Return the incident with the markers reached so far."""
        if (known := self._recall()) is None:
            return None
        return incident_board.shown_incident(*known, root=self._addresses.root, labs=self._addresses.named("labs"))

    def first_address(self) -> str:
        """Return the address of the Board at the first marker, or of the sandbox if it has none yet."""
        known = self._recall()
        return self._addresses.root if known is None else incident_board.first_address(self._addresses.root, *known)

    def _recall(self) -> tuple[Incident, Noted] | None:
        """Read the journal until it has reached the incident's end."""
        if self._known is None or not self._known[1].whole:
            incident = incident_of(self._directory)
            self._known = None if incident is None else (incident, noted(self._directory, incident))
        return self._known
