"""Named limits (catalogue 6)."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """Limits of one sandbox.  Exceeding one causes the protocol's own refusal and a `LimitReached` fact."""

    topics: int = 32
    queues_per_topic: int = 64
    queues: int = 128
    groups: int = 16
    members: int = 24
    producers: int = 8
    stored_messages_per_s: int = 2_000
    messages_per_send: int = 5_000
    body_bytes: int = 4 * MIB  # of a compressed body, unpacked for a member; no producer makes longer ones
    store_bytes: int = 256 * MIB  # stands for the disk
    journal_bytes: int = 128 * MIB
    flow_events_per_s: int | None = 4_000  # None: the valve never closes
    actions_per_s: int = 10  # per visitor
    questions_per_s: int = 10  # per visitor
    mapped_files: int = 48
    sleep_after_idle_s: float = 600.0
    viewers: int = 600
    scan_entries: int = 5_000  # entries read by one question
    scan_ms: int = 5  # or its time, then it returns a cursor
    wire_links: int = 8  # recorded at a time
    wire_frames: int = 50  # kept of each
    wire_frame_bytes: int = 16 * 1024  # kept of each frame
    wire_connections: int = 32  # of external clients, over all ports
    wire_pending_requests: int = 1_024  # of one of them, without pulls; further ones are answered with code 2
    wire_unread_bytes: int = 8 * MIB  # of answers to one of them; then it is closed


COURSE_LIMITS = SandboxLimits(
    stored_messages_per_s=200,
    messages_per_send=1_000,
    store_bytes=128 * MIB,
    journal_bytes=256 * MIB,
    flow_events_per_s=None,
    sleep_after_idle_s=1_800.0,
)


@dataclass(frozen=True, kw_only=True)
class HostLimits:
    """Limits of one server."""

    awake_sandboxes: int = 200
    descriptors_per_sandbox: int = 40
    descriptors_reserved: int = 512
    sandboxes_per_visitor: int = 5
    sandboxes_per_account: int = 20
    creations_per_hour_per_visitor: int = 20  # without an account
    creations_per_hour_per_address: int = 320  # likewise: a room of sixty, with all the sandboxes each may have
    creations_per_hour_per_course: int = 2_000  # of its members, whatever their address
    tokens_per_sandbox: int = 20  # valid API tokens; the same for claim links
    counted_visitors: int = 10_000  # visitors with a rate limit state; those inactive for longest are dropped
    sockets: int = 1_000
    sockets_per_address: int = 200
    connections: int = 2_000  # of HTTP, sockets among them
    connections_per_address: int = 400  # unless a proxy is in front of the server
    request_s: float = 60.0  # until a request is complete; an idle connection is closed after the same time
    request_bytes: int = 5 * MIB // 2  # of a body
    request_fields: int = 1_000  # of a form or an address
    unread_bytes: int = 4 * MIB  # waiting for the client of a live socket; then its connection is closed
    data_bytes: int = 20 * 1024 * MIB
    disk_share: float = 0.8
    read_turn_ms: float = 5.0  # reading of channels for live sockets; the rest is read in the next turn
    slice_ms: float = 5.0  # one sandbox's turn of the engine's time, while others wait
    branches_at_once: int = 2  # made by executing their parents' runs again
    branch_events: int = 300_000  # of the parent, up to where it is branched
    branch_changes: int = 50  # actions left out or replaced, or of a recipe
    recipe_s: int = 600  # of the sandbox, until it goes on
    recipe_chars: int = 2_000  # of a recipe's text
    recipe_bytes: int = 64 * 1024  # of the same, unpacked
    recipe_test_events: int = 10_000  # of the range that its test is about
    recipe_link_s: int = 7_200  # of the sandbox, up to a recipe's last event
    plays_at_once: int = 1  # comparisons and claims, each in a process of its own beside the server
    plays_waiting: int = 4
    play_s: float = 600.0  # then it is cancelled
    read_share: float = 0.5  # of the engine's time for them
    rights_share: float = 0.3  # of the time: database checks of the rights of live sockets when they open channels
    unpacked_bytes: int = 4 * MIB  # of a compressed body when shown; of a longer one only the beginning is shown
    folded_events: int = 50_000  # between a keyframe and an event whose state is asked for
    exact_events: int = 300_000  # from the first on, executed again for exact boards of the past
    states_per_s: int = 20  # at events, per visitor
    history_s: float = 600.0  # machine time to make the initial history of new sandboxes; then cancelled
    moment_events: int = 300_000  # from the first on, executed again for a view of the past
    moments_at_once: int = 1  # events whose views are made, each by a process of low priority
    moments_waiting: int = 8  # with the one being made
    moments_per_minute: int = 30  # made for one visitor
    moment_s: float = 120.0  # then cancelled
    moment_unasked_s: float = 10.0  # likewise, when no request came for it so long
    moments_kept: int = 20
    recordings_at_once: int = 1  # being made, each by a process of low priority
    recordings_waiting: int = 20  # with those being made
    recordings_per_hour: int = 20  # made for one visitor
    recording_s: float = 600.0  # then cancelled
    recording_unasked_s: float = 60.0  # likewise, when no request came for it so long
    recordings_bytes: int = 1024 * MIB  # kept; those not asked for longest are removed
    share_links_per_sandbox: int = 50  # that are good
    share_links_waiting: int = 8  # whose recordings are still to be made
    share_events: int = 200_000  # in the range of a link
    share_bytes: int = 16 * MIB  # of its recording
    share_notes: int = 20
    share_note_chars: int = 400
    journal_lines: int = 1_000_000  # in one download
    unknown_links: int = 20  # of one address at once
    unknown_links_per_s: float = 0.5
    notices_waiting: int = 1_000  # of changed rights, to be sent to other web processes; further ones are dropped
    notices_per_s: int = 200  # taken from other web processes; the same
    notice_bytes: int = 512  # of one; a longer one is dropped
    pipeline_runs_waiting: int = 20
    pipeline_runs_per_visitor: int = 2  # waiting or running
    pipeline_run_s: float = 600.0  # then it is cancelled
    pipeline_idle_s: float = 600.0  # then Spark is stopped


@dataclass(frozen=True, kw_only=True)
class SocketLimits:
    """Limits of one live connection."""

    channels: int = 16
    frame_bytes: int = 64 * 1024
    board_bytes_per_s: int = 36_000  # of deltas; a channel that changes by more is sent less often
    snapshot_bytes: int = 128 * 1024
    messages_per_s: int = 20
    read_ms_per_s: float = 100.0  # of the engine; a socket that costs more is served less often
    waiting_messages: int = 32  # sub and unsub, while the engine is slow
    behind_after_s: float = 1.0  # oldest unacknowledged frame: the next frame is a snapshot
    slow_after_s: float = 5.0  # from here on two frames a second
    close_after_s: float = 20.0  # close 4408


@dataclass(frozen=True, kw_only=True)
class RecordingLimits:
    """Limits of one recording (docs/recording.md), when written and when read."""

    file_bytes: int = 64 * MIB
    line_bytes: int = 8 * 1024  # the first line
    head_bytes: int = 32 * 1024  # the first line and the directory: what a player asks for first
    chunks: int = 1_440  # a day of them
    chunk_frames: int = 6_000
    unpacked_bytes: int = 16 * MIB  # of one part of a chunk
    channels: int = 64


@dataclass(frozen=True, kw_only=True)
class AttachedLimits:
    """Limits of one attached cluster: the part that is shown, and the polling rate.  The rest is only named."""

    clusters: int = 16  # of one server
    brokers: int = 64
    topics: int = 256
    groups: int = 128
    queues: int = 4_096
    members: int = 512
    topics_per_round: int = 64  # of each broker; the next round continues where this one ended
    groups_per_round: int = 32
    members_per_round: int = 32
    requests_in_flight: int = 16
    requests_per_broker: int = 2  # so that a slow one does not take all
    request_timeout_ms: int = 3_000
    member_timeout_ms: int = 11_000  # a broker waits ten seconds for a member's answer
    watched_s: float = 60.0  # without viewers for this long, polling stops
    round_s: float = 10.0  # one poll of everything; its requests are spread over half of it
    focus_s: float = 1.0  # the channels with viewers
    members_s: float = 2.0  # the running info of their members
    mute_s: float = 60.0  # a member that did not answer is not asked for this long
    first_backoff_s: float = 2.0
    most_backoff_s: float = 60.0
    attach_s: float = 8.0  # time for the first round
    question_s: float = 8.0
    lag_mark: int = 10_000  # messages; a group above it is an event of the journal
    found_messages: int = 50
    journal_entries: int = 1_000
