"""A real RocketMQ cluster behind the same pages: asked as administrators ask, never changed but by a reset.

What those codes do not tell is None in every drawing, and drawn as unknown:

* of a queue: `next_pull`, `oldest`, `oldest_stored_ms`, `flow_control`, `held_until_ms`, `cause` (save a reset made
  here), `cells` (a client tells how many messages it holds between which offsets, in `cached`, and not which of them
  are done); `in_memory`, `cells_from`, `owner` and `lock` while its member does not answer 307;
* of a lock: who else waits for it and who asked for it when (only brokers know); it is known from its holder's word, by
  the holder's clock, and its lives are RocketMQ's defaults (`lives.assumed`);
* of a member: label, busy threads, bytes held, timers; threads, limits, span and start while it does not answer 307;
* of a broker: how far its log is flushed and replicated, whether it can be connected to, clock skew, locks;
* of a producer: everything but its id, language and version; and that there is one, where code 328 is not answered;
* of the link of two nodes: what was done to it; when a heartbeat came.
"""
