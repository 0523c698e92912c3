"""Findings of all pieces combined into findings of a store: one for each cause, none for its consequences."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sandbox.store.reader_listing import queues_in
from sandbox.store_audit.around import checkpoint_ahead
from sandbox.store_audit.findings import (
    ERROR,
    LOG_ENDS,
    MAX_FINDINGS,
    Finding,
    file_sizes_text,
    stop_of_log,
    torn_tail_text,
)
from sandbox.store_audit.index_cover import NO_KEYS, NOT_INDEXED, Keys, Stretch
from sandbox.store_audit.log_audit import TIME_GOES_BACK, Place
from sandbox.store_audit.lost_ranges import FOREVER, Lost
from sandbox.store_audit.piece_results import Part
from sandbox.store_audit.uncovered_keys import stretches_of
from sandbox.store_columns.store_log import Stopped, StoreLog

NORMAL_STATES = {
    "not_dispatched": "queue units are not written yet",
    NOT_INDEXED: "keys have no index entry yet, or the index is off",
    "before_queue": "records are of deleted queue files, or of a deleted topic of the same name",
    "without_queue": "records are of queues without files",
    "index_entries_of_lost_records": "index entries lead to records that were lost in a crash",
    "index_files_unread": "index files are being written and were not read",
    TIME_GOES_BACK: "records are older than the record before: a clock was set back",
}
"""Counts of states that are no damage, with the words that follow the number."""

CHECKED = (
    "records",
    "record_bytes",
    "bodies",
    "blanks",
    "units",
    "queues",
    "queue_units",
    "index_entries",
    "not_for_queues",
    *NORMAL_STATES,
    "log_start",
    "log_end",
    "omitted",
)
"""The counts of `checked`; `log_start` and `log_end` are positions: the audit covers what is between."""

OF_UNITS = ("missing_unit", "wrong_unit", "orphan_unit", "two_records")


class Verdict(NamedTuple):
    """The verdict on one store: its findings, and counts of the items checked."""

    store: str
    findings: list[Finding]
    checked: dict[str, int]

    @property
    def sound(self) -> bool:
        """True if the audit is complete and has no error; warnings do not count."""
        return not self.checked["omitted"] and not any(finding.severity == ERROR for finding in self.findings)


def lost_of(store: Place, parts: Iterable[Part]) -> Lost:
    """Return the lost parts of the store's log, from the results of the log pieces."""
    parts = [part for part in parts if part.store == store.name]
    stops, torn = _ends(parts)
    log_end = max((part.counts.get("log_end", 0) for part in parts), default=0)
    stretches = [
        (stop.position, FOREVER if stop.resume is None else stop.resume)
        for stop in stops
        if stop.resume is not None or torn
    ]
    if (beyond := _beyond(store, stops)) is not None:
        stretches.append((beyond, FOREVER))
    stretches += [
        (before, after) for before, after in _gaps(store) if not any(start <= before < end for start, end in stretches)
    ]
    named = frozenset(
        (finding.topic, finding.queue_id, finding.queue_offset)
        for part in parts
        for finding in part.found
        if finding.kind in ("wrong_unit", "two_records")
        and finding.topic is not None
        and finding.queue_id is not None
        and finding.queue_offset is not None
    )
    return Lost(tuple(sorted(stretches)), log_end, named)


def verdict_of(store: Place, first: Iterable[Part], second: Iterable[Part]) -> Verdict:
    """Return the verdict on one store from the results of all pieces.

    `first`: results of log pieces.  `second`: results of queue, index and cover pieces.
    """
    first = [part for part in first if part.store == store.name]
    second = [part for part in second if part.store == store.name]
    counts: Counter[str] = Counter()
    into: dict[int, tuple[int, int]] = {}
    for part in (*first, *second):
        for name, count in part.counts.items():
            counts[name] = max(counts[name], count) if name in ("log_end", "newest_ms") else counts[name] + count
        for begin, (units, entries) in part.into.items():
            before = into.get(begin, (0, 0))
            into[begin] = before[0] + units, before[1] + entries
    collected = [*_of_log(store, first, into), *(finding for part in (*first, *second) for finding in part.found)]
    uncovered = _uncovered(second)
    counts[NOT_INDEXED] += sum(keys.number for stretch, keys in uncovered.items() if stretch.kind == NOT_INDEXED)
    still = {(stretch.kind, stretch.begin) for stretch in stretches_of(store)} if uncovered else set()
    collected += [
        stretch.finding(keys)
        for stretch, keys in uncovered.items()
        if stretch.kind != NOT_INDEXED and (stretch.kind, stretch.begin) in still
    ]
    if not store.open and not any(
        finding.kind in LOG_ENDS and finding.file.startswith("commitlog") for finding in collected
    ):
        collected += checkpoint_ahead(store.root, counts["newest_ms"])
    findings = sorted(
        _with_sizes(joined(collected), store.around), key=lambda finding: (finding.file, finding.position)
    )
    counts["omitted"] = sum(part.omitted for part in (*first, *second)) + max(0, len(findings) - MAX_FINDINGS)
    counts[TIME_GOES_BACK] += _times_back(first)
    counts["queues"] = len(queues_in(store.root)[0])
    counts["log_start"] = StoreLog(store.root, store.logs).start
    return Verdict(store.name, findings[:MAX_FINDINGS], {name: counts[name] for name in CHECKED})


def _with_sizes(findings: Iterable[Finding], around: Sequence[Finding]) -> Iterator[Finding]:
    """Yield all findings; the length of a file and the units that are missing in it are one."""
    sizes = {finding.file: finding for finding in around if finding.kind == "file_sizes"}
    for finding in findings:
        size = sizes.pop(finding.file, None) if finding.kind == "missing_unit" else None
        yield finding if size is None else finding._replace(says=f"{finding.says}; {size.says}")
    yield from sizes.values()
    yield from (finding for finding in around if finding.kind != "file_sizes")


def _uncovered(parts: Iterable[Part]) -> dict[Stretch, Keys]:
    """Return the keys of each stretch of the log that no index file covered when the audit was divided."""
    keys: dict[Stretch, Keys] = {}
    for part in parts:
        for stretch, some in part.uncovered.items():
            keys[stretch] = keys.get(stretch, NO_KEYS) + some
    return keys


def _times_back(parts: Iterable[Part]) -> int:
    """Return the number of log pieces whose first record is older than the last one of the piece before."""
    times = sorted(part.times for part in parts if part.times is not None)
    return sum(later.first_ms < before.last_ms for before, later in pairwise(times))


def joined(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with those of adjacent units of one kind joined, across pieces of work.

    Missing units of a queue are joined across files, other kinds within one file.
    """
    runs: list[Finding] = []
    for finding in sorted(findings, key=_by_queue):
        last = runs[-1] if runs else None
        if last is not None and _goes_on(last, finding):
            runs[-1] = last._replace(items=last.items + finding.items)
        else:
            runs.append(finding)
    return [
        run
        if run.items == 1 or run.queue_offset is None
        else run._replace(
            says=run.says
            + (
                f", and none for the next {run.items - 1}"
                if run.kind == "missing_unit"
                else f", and {run.items - 1} more in a row behind it"
            )
        )
        for run in runs
    ]


def _goes_on(last: Finding, finding: Finding) -> bool:
    """Return True if `finding` concerns the unit that follows those of `last`."""
    if finding.kind not in OF_UNITS or finding.queue_offset is None or last.queue_offset is None:
        return False
    same = finding.kind == "missing_unit" or finding.file == last.file
    return same and (finding.kind, finding.topic, finding.queue_id, finding.queue_offset) == (
        last.kind,
        last.topic,
        last.queue_id,
        last.queue_offset + last.items,
    )


def _by_queue(finding: Finding) -> tuple[str, str, int, int]:
    return finding.kind, finding.topic or "", finding.queue_id or 0, finding.queue_offset or 0


def _of_log(store: Place, parts: Sequence[Part], into: dict[int, tuple[int, int]]) -> list[Finding]:
    stops, torn = _ends(parts)
    log = StoreLog(store.root, store.logs)
    findings: list[Finding] = []
    beyond = _beyond(store, stops)
    short = {segment.start: segment for segment in store.logs if segment.end - segment.start < log.file_bytes}
    for stop in stops:
        file = log.log_before(stop.position)
        start = file.start if file is not None else stop.position
        cut = short.pop(start, None) if stop.resume is not None or torn else None
        ending = stop_of_log(
            stop.why,
            None if stop.resume is None else stop.resume - stop.position,
            pointed_at=torn,
            untouched=stop.untouched or store.open,
        )
        if ending is None:
            continue
        kind, text = ending
        text += _leading(into, stop.position)
        text += f"; the file has {cut.end - cut.start} bytes instead of {log.file_bytes}" if cut is not None else ""
        findings.append(Finding(kind, f"commitlog/{start:020}", stop.position - start, text))
    for before, after in _gaps(store):
        if not any(stop.position <= before < (stop.resume or 0) for stop in stops):
            findings.append(
                Finding("gap", f"commitlog/{before:020}", 0, f"the next file begins at {after}{_leading(into, before)}")
            )
    findings += [
        Finding("torn_tail", f"commitlog/{stop.position:020}", 0, torn_tail_text(stop.why))
        for stop in _rubbish_behind(store, parts)
    ]
    if beyond is not None and (leading := _leading(into, beyond)):
        findings.append(Finding("gap", f"commitlog/{beyond:020}", 0, f"the log ends here{leading}"))
    findings += [
        Finding(
            "file_sizes",
            f"commitlog/{start:020}",
            segment.end - segment.start,
            file_sizes_text(segment.end - segment.start, is_last=segment is store.logs[-1]),
        )
        for start, segment in sorted(short.items())
    ]
    return findings


def _leading(into: dict[int, tuple[int, int]], begin: int) -> str:
    units, entries = into.get(begin, (0, 0))
    return f"; {units} queue units and {entries} index entries lead there" if units or entries else ""


def _beyond(store: Place, stops: Sequence[Stopped]) -> int | None:
    """Return the end of the log if no stop marks it, else None.

    No stop marks the end if the log has no files, or if the last file of a closed store is full.
    """
    if not store.logs:
        return 0
    return None if store.open or (stops and stops[-1].resume is None) else store.logs[-1].end


def _ends(parts: Sequence[Part]) -> tuple[list[Stopped], bool]:
    """Return the stops that no earlier stop explains, ascending, and True if queues point beyond the last one."""
    kept: list[Stopped] = []
    for stop in sorted((stop for part in parts for stop in part.stops), key=lambda stop: stop.position):
        if not kept or (kept[-1].resume is not None and stop.position >= kept[-1].resume):
            kept.append(stop)
    if not kept or kept[-1].resume is not None:
        return kept, False
    return kept, any(part.pointed_at for part in parts if kept[-1] in part.stops)


def _rubbish_behind(store: Place, parts: Sequence[Part]) -> list[Stopped]:
    """Return the stops at the starts of log files that follow the end of a closed store's log and are not empty."""
    stops, _ = _ends(parts)
    if store.open or not stops or stops[-1].resume is not None:
        return []
    starts = {log.start for log in store.logs}
    return [
        stop
        for part in parts
        for stop in part.stops
        if stop.position > stops[-1].position and stop.position in starts and not stop.untouched
    ]


def _gaps(store: Place) -> list[tuple[int, int]]:
    """Return the byte ranges between two log files where a file is missing."""
    size = StoreLog(store.root, store.logs).file_bytes
    return [
        (segment.start + size, following.start)
        for segment, following in zip(store.logs, store.logs[1:], strict=False)
        if following.start > segment.start + size
    ]
