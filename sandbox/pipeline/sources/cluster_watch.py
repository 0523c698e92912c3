"""The current end offsets of a stream's queues, and the queues that cannot be reached, with the time since then."""

from sandbox.kernel.errors import ConnectFailed, RemotingError, SandboxError, StoreError
from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sources.cluster import queues_of
from sandbox.pipeline.sources.cluster_link import LONGEST_PAUSE_S, Link
from sandbox.pipeline.sources.cluster_offsets import Ends, named
from sandbox.pipeline.sources.cluster_options import Asked, Offsets
from sandbox.pipeline.sources.store_offsets import WAY_ON

AGAIN_S = 5.0  # before a broker that did not answer is asked again

Absent = dict[MessageQueue, SandboxError | None]


class Watch:
    """The watch on a stream's queues.  `highs`: the end of each queue when its broker last answered."""

    def __init__(self, asked: Asked) -> None:
        self._chosen, self._strict = asked.chosen, asked.fail_on_data_loss
        self.highs: Offsets = {}
        self._since_s: dict[MessageQueue, float] = {}
        self._away: dict[str, tuple[float, SandboxError]] = {}  # brokers: when they are asked again, and why

    async def ends(self, link: Link, position: Offsets, *, waits: bool) -> dict[MessageQueue, Ends]:
        """Return the ends of the queues that can be reached now.

        `waits`: wait for all, until absent ones are overdue.  Raises ConnectFailed for a queue whose broker is
        absent for `link.patience_s`.  Raises StoreError for a queue that the name servers have not listed for that
        time (unless failOnDataLoss is off).  Raises NoTopic, NotForUs.
        """
        while True:
            queue_ends, absent = await self._seen(link, position)
            now_s = link.clock.monotonic()
            self._since_s = {queue: self._since_s.get(queue, now_s) for queue in absent}
            overdue = {queue for queue, since_s in self._since_s.items() if now_s - since_s >= link.patience_s}
            for queue in sorted(overdue):
                if (error := absent[queue]) is not None:
                    raise ConnectFailed(
                        f"The stream has waited {link.patience_s:.0f} s for {named(queue)}: {error}"
                    ) from error
                if self._strict:
                    raise StoreError(
                        f"The name servers no longer have {named(queue)}: it was deleted, "
                        f"or its broker is offline for more than {link.patience_s:.0f} s.{WAY_ON}"
                    )
            if not waits or absent.keys() <= overdue:
                return queue_ends
            link.forget()
            await link.clock.sleep(LONGEST_PAUSE_S)

    async def _seen(self, link: Link, position: Offsets) -> tuple[dict[MessageQueue, Ends], Absent]:
        """Return the ends of queues whose broker answers, and the other queues with the error.

        The error is None for a queue that the name servers do not have.
        """
        try:
            queues, unknown = await queues_of(link, self._chosen)
        except ConnectFailed as error:
            if not position:
                raise
            return {}, dict.fromkeys(position, error)
        if self._strict and (new := unknown.keys() - {queue.topic for queue in position}):
            raise unknown[min(new)]
        known = {queue for queue in position if self._chosen.includes(queue)}
        now_s = link.clock.monotonic()
        self._away = {broker: (again_s, error) for broker, (again_s, error) in self._away.items() if now_s < again_s}
        absent: Absent = dict.fromkeys(known - set(queues))
        absent |= {queue: self._away[queue.broker][1] for queue in queues if queue.broker in self._away}
        answers = await link.ends([queue for queue in queues if queue not in absent], places=position, patience_s=0)
        queue_ends: dict[MessageQueue, Ends] = {}
        for queue, answer in answers.items():
            if isinstance(answer, Ends):
                queue_ends[queue] = answer
                self.highs[queue] = answer.high
            elif isinstance(answer, RemotingError):
                absent[queue] = answer
                self._away[queue.broker] = link.clock.monotonic() + AGAIN_S, answer
            elif queue in known:
                absent[queue] = None
        return queue_ends, absent
