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
    body_bytes: int = 4 * MIB  # size of a decompressed body for a member; producers make no longer ones
    store_bytes: int = 256 * MIB  # replaces the disk size
    journal_bytes: int = 128 * MIB
    flow_events_per_s: int | None = 4_000  # None: the valve never closes
    actions_per_s: int = 10  # per visitor
    questions_per_s: int = 10  # per visitor
    mapped_files: int = 48
    sleep_after_idle_s: float = 600.0
    viewers: int = 600
    scan_entries: int = 5_000  # entries read by one question
    scan_ms: int = 5  # or time of one question; then it returns a cursor
    wire_links: int = 8  # links recorded at the same time
    wire_frames: int = 50  # frames kept per link
    wire_frame_bytes: int = 16 * 1024  # bytes kept per frame
    wire_connections: int = 32  # connections of external clients, over all ports
    wire_pending_requests: int = 1_024  # per external client, without pulls; further ones are answered with code 2
    wire_unread_bytes: int = 8 * MIB  # answers that wait for one external client; then its connection is closed


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
    creations_per_hour_per_visitor: int = 20  # for visitors without an account
    creations_per_hour_per_address: int = 320  # without an account: a class of sixty with all their sandboxes
    creations_per_hour_per_course: int = 2_000  # for members of a course, whatever their address
    tokens_per_sandbox: int = 20  # valid API tokens; also the limit of claim links
    counted_visitors: int = 10_000  # visitors with a rate limit state; those inactive longest are dropped
    sockets: int = 1_000
    sockets_per_address: int = 200
    browsers: int = 1_500  # connected browsers that run a lab's engine themselves
    browsers_per_address: int = 300
    connections: int = 4_000  # HTTP connections, including sockets
    connections_per_address: int = 400  # unless a proxy is in front of the server
    request_s: float = 60.0  # time until a request is complete; an idle connection is closed after the same time
    request_bytes: int = 5 * MIB // 2  # size of a body
    request_fields: int = 1_000  # fields of a form or an address
    unread_bytes: int = 4 * MIB  # data that waits for the client of a live socket; then its connection is closed
    data_bytes: int = 20 * 1024 * MIB
    disk_share: float = 0.8
    read_turn_ms: float = 5.0  # time per turn to read channels for live sockets; the rest is read in the next turn
    slice_ms: float = 5.0  # slice of the engine's time for one sandbox, while others wait
    branches_at_once: int = 2  # branches that are being created
    branch_events: int = 300_000  # events of the parent up to the branch event
    branch_changes: int = 50  # changed actions of a branch, or actions of a recipe
    recipe_s: int = 600  # sandbox time of a recipe's run until it continues by itself
    recipe_chars: int = 2_000  # length of a recipe's text
    recipe_bytes: int = 64 * 1024  # size of a recipe's text, decompressed
    recipe_test_events: int = 10_000  # events in the range of a generated test
    recipe_link_s: int = 7_200  # sandbox time up to a recipe's last event
    plays_at_once: int = 1  # comparisons and claims, each in a process of its own next to the server
    plays_waiting: int = 4
    play_s: float = 600.0  # then the process is cancelled
    read_share: float = 0.5  # share of the engine's time for reading channels
    rights_share: float = 0.3  # share of the time for database checks of rights when live sockets open channels
    unpacked_bytes: int = 4 * MIB  # decompressed size of a body when shown; a longer one is truncated
    folded_events: int = 50_000  # events between a keyframe and the requested event
    exact_events: int = 300_000  # events executed again, from the first on, for exact boards of the past
    states_per_s: int = 20  # states at events, per visitor
    history_s: float = 600.0  # machine time to make the initial history of new sandboxes; then cancelled
    moment_events: int = 300_000  # events executed again, from the first on, for a view of the past
    moments_at_once: int = 1  # views that are being made, each by a process of low priority
    moments_waiting: int = 8  # waiting views, including the one being made
    moments_per_minute: int = 30  # views made for one visitor
    moment_s: float = 120.0  # then the process is cancelled
    moment_unasked_s: float = 10.0  # time without a request for the view; then it is cancelled
    moments_kept: int = 20
    recordings_at_once: int = 1  # recordings that are being made, each by a process of low priority
    recordings_waiting: int = 20  # waiting recordings, including those being made
    recordings_per_hour: int = 20  # recordings made for one visitor
    recording_s: float = 600.0  # then the process is cancelled
    recording_unasked_s: float = 60.0  # time without a request for the recording; then it is cancelled
    recordings_bytes: int = 1024 * MIB  # size of kept recordings; those not requested for longest are removed
    share_links_per_sandbox: int = 50  # valid links
    share_links_waiting: int = 8  # links without a finished recording
    share_events: int = 200_000  # events in the range of a link
    share_bytes: int = 16 * MIB  # size of a link's recording
    share_notes: int = 20
    share_note_chars: int = 400
    journal_lines: int = 1_000_000  # lines of one download
    unknown_links: int = 20  # requests for unknown links from one address at once
    unknown_links_per_s: float = 0.5
    notices_waiting: int = 1_000  # notices of changed rights to other web processes; further ones are dropped
    notices_per_s: int = 200  # notices accepted from other web processes; further ones are dropped
    notice_bytes: int = 512  # size of one notice; a longer one is dropped
    pipeline_runs_waiting: int = 20
    pipeline_runs_per_visitor: int = 2  # runs that wait or run
    pipeline_run_s: float = 600.0  # then the run is cancelled
    pipeline_idle_s: float = 600.0  # time without a run; then Spark is stopped


@dataclass(frozen=True, kw_only=True)
class SocketLimits:
    """Limits of one live connection."""

    channels: int = 16
    frame_bytes: int = 64 * 1024
    board_bytes_per_s: int = 36_000  # size of deltas; a channel with larger changes is sent less often
    snapshot_bytes: int = 128 * 1024
    messages_per_s: int = 20
    read_ms_per_s: float = 100.0  # engine time; a socket that needs more is served less often
    waiting_messages: int = 32  # subscribe and unsubscribe messages, while the engine is slow
    behind_after_s: float = 1.0  # age of the oldest unacknowledged frame; then the next frame is a snapshot
    slow_after_s: float = 5.0  # its age from which on two frames are sent per second
    close_after_s: float = 20.0  # its age at which the socket is closed (4408)
    course_bytes: int = 2 * MIB  # size of a course's snapshot or delta: its grid has a row of 600 bytes a student


@dataclass(frozen=True, kw_only=True)
class RecordingLimits:
    """Limits of one recording (docs/recording.md), when written and when read."""

    file_bytes: int = 64 * MIB
    line_bytes: int = 8 * 1024  # size of the first line
    head_bytes: int = 32 * 1024  # size of the first line and the directory, which a player requests first
    chunks: int = 1_440  # one day of chunks
    chunk_frames: int = 6_000
    unpacked_bytes: int = 16 * MIB  # decompressed size of one part of a chunk
    channels: int = 64


@dataclass(frozen=True, kw_only=True)
class AttachedLimits:
    """Limits of one attached cluster: the part that is shown, and the polling rate.  The rest is only named."""

    clusters: int = 16  # per server
    brokers: int = 64
    topics: int = 256
    groups: int = 128
    queues: int = 4_096
    members: int = 512
    topics_per_round: int = 64  # per broker; the next round continues where this one ended
    groups_per_round: int = 32
    members_per_round: int = 32
    requests_in_flight: int = 16
    requests_per_broker: int = 2  # so a slow broker does not use all requests in flight
    request_timeout_ms: int = 3_000
    member_timeout_ms: int = 11_000  # a broker waits ten seconds for a member's answer
    watched_s: float = 60.0  # time without viewers after which polling stops
    round_s: float = 10.0  # period of one poll of everything; its requests are spread over half of it
    focus_s: float = 1.0  # period of polls for channels with viewers
    look_s: float = 5.0  # period of looks for findings
    members_s: float = 2.0  # period of polls for the running info of their members
    mute_s: float = 60.0  # a member that did not answer is not polled for this time
    first_backoff_s: float = 2.0
    most_backoff_s: float = 60.0
    attach_s: float = 8.0  # time for the first round
    question_s: float = 8.0
    lag_mark: int = 10_000  # messages; a group with a larger lag is reported in the journal
    found_messages: int = 50
    journal_entries: int = 1_000
