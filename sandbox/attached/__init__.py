"""A real RocketMQ cluster behind the same pages: read with administrators' requests, changed only by a reset.

Values that these requests do not return are None in every snapshot, and shown as unknown:

* of a queue: `next_pull`, `oldest`, `oldest_stored_ms`, `flow_control`, `held_until_ms`, `cause` (except of a reset
made here), `cells` (a client reports in `cached` how many messages it has between which offsets, not which of them
are done); `in_memory`, `cells_from`, `owner` and `lock` while its member does not answer 307;
* of a lock: other clients that requested it, and when (only brokers have that); the lock itself is known from its
owner's report, by the owner's clock, and its times are RocketMQ's defaults (`lives.assumed`);
* of a member: label, busy threads, cached bytes, timers; threads, limits, span and start while it does not answer 307;
* of a broker: how far its log is flushed and replicated, whether it accepts connections, clock skew, locks;
* of a producer: all except id, language and version; all of it where code 328 is not answered;
* of the link of two nodes: faults; times of heartbeats.
"""
