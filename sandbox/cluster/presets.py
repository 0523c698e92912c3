"""Presets of sizes and thresholds: Apache's own, ours, and small ones for lessons (catalogue 5).

Pages show values that differ from RocketMQ's next to them, so this module has the real values too.
"""

from dataclasses import dataclass, replace

from sandbox.kernel.errors import ActionRefused

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Sizes and thresholds of a sandbox.  Defaults are the values of `real`."""

    commit_log_file_bytes: int = GIB
    consume_queue_file_entries: int = 300_000
    index_slots: int = 5_000_000
    index_entries: int = 20_000_000
    max_message_bytes: int = 4 * MIB
    memory_bytes: int | None = None  # what "in memory" (40 % of it) is computed from; None: the machine's own
    pull_threshold_for_queue: int = 1_000
    pull_threshold_size_mib: int = 100
    consume_concurrently_max_span: int = 2_000
    client_rebalance_interval_ms: int = 20_000  # RocketMQ: rocketmq.client.rebalance.waitInterval
    client_lock_interval_ms: int = 20_000  # RocketMQ: rocketmq.client.rebalance.lockInterval
    client_lock_max_live_ms: int = 30_000  # RocketMQ: rocketmq.client.rebalance.lockMaxLiveTime
    file_reserved_hours: int = 72
    flush: str = "ASYNC_FLUSH"
    replication: str = "ASYNC_MASTER"
    slave_read: bool = False  # RocketMQ: slaveReadEnable
    property_filter: bool = False  # RocketMQ: enablePropertyFilter


REAL = Preset()
SANDBOX = replace(
    REAL,
    commit_log_file_bytes=MIB,
    consume_queue_file_entries=1_000,
    index_slots=1_000,
    index_entries=4_000,
    max_message_bytes=256 * KIB,
    memory_bytes=64 * MIB,
)
TEACHING = replace(
    SANDBOX,
    commit_log_file_bytes=64 * KIB,
    consume_queue_file_entries=200,
    index_slots=97,
    index_entries=400,
    max_message_bytes=16 * KIB,
    memory_bytes=256 * KIB,
    pull_threshold_for_queue=100,
    pull_threshold_size_mib=1,
    consume_concurrently_max_span=100,
    file_reserved_hours=1,
)

PRESETS = {"real": REAL, "sandbox": SANDBOX, "teaching": TEACHING}

FIXED_BY_FIRST_MESSAGE = ("commit_log_file_bytes", "consume_queue_file_entries", "index_slots", "index_entries")
"""File sizes: part of the files' names and layout, so they stay once a message is stored."""

OF_NEW_CLIENTS = ("client_rebalance_interval_ms", "client_lock_interval_ms", "client_lock_max_live_ms")
"""Properties of a client process: they apply to processes started later, and no broker knows them."""

_ALLOWED: dict[str, tuple[int, int]] = {
    "commit_log_file_bytes": (64 * KIB, GIB),
    "consume_queue_file_entries": (100, 300_000),
    "index_slots": (97, 5_000_000),
    "index_entries": (100, 20_000_000),
    "max_message_bytes": (KIB, 4 * MIB),
    "memory_bytes": (64 * KIB, 64 * GIB),
    "pull_threshold_for_queue": (1, 65_535),
    "pull_threshold_size_mib": (1, 1_024),
    "consume_concurrently_max_span": (1, 65_535),
    "file_reserved_hours": (1, 720),
    "client_rebalance_interval_ms": (1_000, 600_000),
    "client_lock_interval_ms": (1_000, 600_000),
    "client_lock_max_live_ms": (1_000, 600_000),
}
_CHOICES = {"flush": ("ASYNC_FLUSH", "SYNC_FLUSH"), "replication": ("ASYNC_MASTER", "SYNC_MASTER")}
_SWITCHES = {"true": True, "false": False}
_SWITCHED = ("slave_read", "property_filter")


def preset_of(name: str, changes: dict[str, object] | None = None) -> Preset:
    """Return a preset with single keys changed.  Raises ActionRefused (422) for an unknown name, key or value."""
    if name not in PRESETS:
        raise ActionRefused(
            422,
            "Preset {name} does not exist.",
            "Choose one of: {known}.",
            field="preset",
            name=name,
            known=", ".join(PRESETS),
        )
    checked = {key: _checked(key, value) for key, value in (changes or {}).items()}
    return replace(PRESETS[name], **checked)  # type: ignore[arg-type]  # each value was checked for its key


def _checked(key: str, value: object) -> object:
    if key in _CHOICES:
        if value not in _CHOICES[key]:
            raise ActionRefused(
                422,
                "{key} cannot be {value}.",
                "Choose one of: {choices}.",
                field=key,
                key=key,
                value=value,
                choices=", ".join(_CHOICES[key]),
            )
        return value
    if key in _SWITCHED:
        if str(value).lower() not in _SWITCHES:
            raise ActionRefused(
                422,
                "{key} cannot be {value}.",
                "Choose one of: {choices}.",
                field=key,
                key=key,
                value=value,
                choices=", ".join(_SWITCHES),
            )
        return _SWITCHES[str(value).lower()]
    if key not in _ALLOWED:
        raise ActionRefused(
            422,
            "Setting {key} does not exist.",
            "Available settings: {known}.",
            field=key,
            key=key,
            known=", ".join((*_CHOICES, *_SWITCHED, *_ALLOWED)),
        )
    return whole_number(key, value, *_ALLOWED[key])


def whole_number(key: str, value: object, low: int, high: int) -> int:
    """Return the value as an integer.  Raises ActionRefused (422) if it is outside `low` to `high`."""
    try:
        number = int(str(value))
    except ValueError:
        number = low - 1
    if not low <= number <= high:
        raise ActionRefused(
            422,
            "{key} must be between {low} and {high}, not {value}.",
            "Choose a value in the allowed range.",
            field=key,
            key=key,
            low=low,
            high=high,
            value=str(value)[:40],
        )
    return number
