"""From findings of pieces to findings of a store: one for each cause, none for its consequences."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sandbox.pipeline.audit.found import Found, Part, found_of
from sandbox.pipeline.audit.index_cover import stretches_of
from sandbox.pipeline.audit.log_audit import Place
from sandbox.pipeline.audit.lost import FOREVER, Lost
from sandbox.pipeline.audit.store_log import Stopped, StoreLog
from sandbox.store.findings import ERROR, LOG_ENDS, MAX_FINDINGS, file_sizes_text, stop_of_log, torn_tail_text
from sandbox.store.index_cover import NO_KEYS, Keys
from sandbox.store.verify_around import checkpoint_ahead

CHECKED = (
    "records",
    "record_bytes",
    "bodies",
    "units",
    "queue_units",
    "index_entries",
    "not_for_queues",
    "not_dispatched",
    "before_queue",
    "without_queue",
    "index_entries_of_lost_records",
    "index_files_unread",
    "log_start",
    "log_end",
    "omitted",
)
"""The counts of `checked`; `log_start` and `log_end` are positions: the audit covers what is between."""

OF_UNITS = ("missing_unit", "wrong_unit", "orphan_unit", "two_records")


class Verdict(NamedTuple):
    """The verdict on one store."""

    store: str
    findings: list[Found]
    checked: dict[str, int]

    @property
    def sound(self) -> bool:
        """No error: warnings do not count, as in a verification."""
        return not self.checked["omitted"] and not any(found.severity == ERROR for found in self.findings)


def lost_of(place: Place, parts: Iterable[Part]) -> Lost:
    """From the audit of the log files."""
    parts = [part for part in parts if part.store == place.name]
    stops, torn = _ends(parts)
    log_end = max((part.counts.get("log_end", 0) for part in parts), default=0)
    stretches = [
        (stop.position, FOREVER if stop.resume is None else stop.resume)
        for stop in stops
        if stop.resume is not None or torn
    ]
    if (beyond := _beyond(place, stops)) is not None:
        stretches.append((beyond, FOREVER))
    stretches += [
        (before, after) for before, after in _gaps(place) if not any(start <= before < end for start, end in stretches)
    ]
    named = frozenset(
        (found.topic, found.queue_id, found.queue_offset)
        for part in parts
        for found in part.found
        if found.kind in ("wrong_unit", "two_records")
        and found.topic is not None
        and found.queue_id is not None
        and found.queue_offset is not None
    )
    return Lost(tuple(sorted(stretches)), log_end, named)


def verdict_of(place: Place, first: Iterable[Part], second: Iterable[Part]) -> Verdict:
    """`first`: of the log; `second`: of queues and index."""
    first = [part for part in first if part.store == place.name]
    second = [part for part in second if part.store == place.name]
    counts: Counter[str] = Counter()
    into: dict[int, tuple[int, int]] = {}
    for part in (*first, *second):
        for name, count in part.counts.items():
            counts[name] = max(counts[name], count) if name in ("log_end", "newest_ms") else counts[name] + count
        for begin, (units, entries) in part.into.items():
            before = into.get(begin, (0, 0))
            into[begin] = before[0] + units, before[1] + entries
    collected = [*_of_log(place, first, into), *(found for part in (*first, *second) for found in part.found)]
    collected += _uncovered(place, second)
    if not place.open and not any(found.kind in LOG_ENDS and found.file.startswith("commitlog") for found in collected):
        collected += map(found_of, checkpoint_ahead(place.root, counts["newest_ms"]))
    lacking = {found.file for found in collected if found.kind == "missing_unit"}
    collected += [found for found in place.around if found.kind != "file_sizes" or found.file not in lacking]
    findings = sorted(joined(collected), key=lambda found: (found.file, found.position))
    counts["omitted"] = sum(part.omitted for part in (*first, *second)) + max(0, len(findings) - MAX_FINDINGS)
    counts["log_start"] = StoreLog(place.root, place.logs).start
    return Verdict(place.name, findings[:MAX_FINDINGS], {name: counts[name] for name in CHECKED})


def _uncovered(place: Place, parts: Iterable[Part]) -> Iterator[Found]:
    """A finding for each stretch of the log with keys and without an index file."""
    keys: dict[int, Keys] = {}
    for part in parts:
        for begin, some in part.uncovered.items():
            keys[begin] = keys.get(begin, NO_KEYS) + some
    for stretch in stretches_of(place) if keys else ():
        if stretch.begin in keys:
            yield found_of(stretch.finding(keys[stretch.begin]))._replace(items=keys[stretch.begin].number)


def joined(findings: Iterable[Found]) -> list[Found]:
    """Adjacent units of one kind become one finding, across pieces of work: those of a file, and all missing ones."""
    runs: list[Found] = []
    for found in sorted(findings, key=_by_queue):
        last = runs[-1] if runs else None
        if last is not None and _goes_on(last, found):
            runs[-1] = last._replace(items=last.items + found.items)
        else:
            runs.append(found)
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


def _goes_on(last: Found, found: Found) -> bool:
    """Return whether `found` concerns the unit that follows those of `last`."""
    if found.kind not in OF_UNITS or found.queue_offset is None or last.queue_offset is None:
        return False
    same = found.kind == "missing_unit" or found.file == last.file
    return same and (found.kind, found.topic, found.queue_id, found.queue_offset) == (
        last.kind,
        last.topic,
        last.queue_id,
        last.queue_offset + last.items,
    )


def _by_queue(found: Found) -> tuple[str, str, int, int]:
    return found.kind, found.topic or "", found.queue_id or 0, found.queue_offset or 0


def _of_log(place: Place, parts: Sequence[Part], into: dict[int, tuple[int, int]]) -> list[Found]:
    stops, torn = _ends(parts)
    log = StoreLog(place.root, place.logs)
    findings: list[Found] = []
    beyond = _beyond(place, stops)
    short = {one.start: one for one in place.logs if one.end - one.start < log.file_bytes}
    for stop in stops:
        file = log.log_before(stop.position)
        start = file.start if file is not None else stop.position
        cut = short.pop(start, None) if stop.resume is not None or torn else None
        said = stop_of_log(
            stop.why,
            None if stop.resume is None else stop.resume - stop.position,
            pointed_at=torn,
            untouched=stop.untouched or place.open,
        )
        if said is None:
            continue
        kind, text = said
        text += _leading(into, stop.position)
        text += f"; the file has {cut.end - cut.start} bytes instead of {log.file_bytes}" if cut is not None else ""
        findings.append(Found(kind, f"commitlog/{start:020}", stop.position - start, text))
    for before, after in _gaps(place):
        if not any(stop.position <= before < (stop.resume or 0) for stop in stops):
            findings.append(
                Found("gap", f"commitlog/{before:020}", 0, f"the next file begins at {after}{_leading(into, before)}")
            )
    findings += [
        Found("torn_tail", f"commitlog/{stop.position:020}", 0, torn_tail_text(stop.why))
        for stop in _rubbish_behind(place, parts)
    ]
    if beyond is not None and (leading := _leading(into, beyond)):
        findings.append(Found("gap", f"commitlog/{beyond:020}", 0, f"the log ends here{leading}"))
    findings += [
        Found(
            "file_sizes",
            f"commitlog/{start:020}",
            one.end - one.start,
            file_sizes_text(one.end - one.start, is_last=one is place.logs[-1]),
        )
        for start, one in sorted(short.items())
    ]
    return findings


def _leading(into: dict[int, tuple[int, int]], begin: int) -> str:
    units, entries = into.get(begin, (0, 0))
    return f"; {units} queue units and {entries} index entries lead there" if units or entries else ""


def _beyond(place: Place, stops: Sequence[Stopped]) -> int | None:
    """End of the log without a stop: it has no files at all, or its last one is full in a closed store."""
    if not place.logs:
        return 0
    return None if place.open or (stops and stops[-1].resume is None) else place.logs[-1].end


def _ends(parts: Sequence[Part]) -> tuple[list[Stopped], bool]:
    """Stops not explained by one before, ascending; and whether queues point beyond the last."""
    kept: list[Stopped] = []
    for stop in sorted((stop for part in parts for stop in part.stops), key=lambda one: one.position):
        if not kept or (kept[-1].resume is not None and stop.position >= kept[-1].resume):
            kept.append(stop)
    if not kept or kept[-1].resume is not None:
        return kept, False
    return kept, any(part.pointed_at for part in parts if kept[-1] in part.stops)


def _rubbish_behind(place: Place, parts: Sequence[Part]) -> list[Stopped]:
    """Files after the end of a closed store's log that are not empty."""
    stops, _ = _ends(parts)
    if place.open or not stops or stops[-1].resume is not None:
        return []
    starts = {log.start for log in place.logs}
    return [
        stop
        for part in parts
        for stop in part.stops
        if stop.position > stops[-1].position and stop.position in starts and not stop.untouched
    ]


def _gaps(place: Place) -> list[tuple[int, int]]:
    """Return the byte ranges between two log files where a file is missing."""
    size = StoreLog(place.root, place.logs).file_bytes
    return [
        (one.start + size, following.start)
        for one, following in zip(place.logs, place.logs[1:], strict=False)
        if following.start > one.start + size
    ]
