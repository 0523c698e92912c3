"""Choice of the name server to ask, and the routes it returns."""

import logging

from sandbox.client.client_api import ClientApi
from sandbox.client.routes import RouteTable
from sandbox.journal.events import RouteLearned
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import BrokerRefused, ConnectFailed, RemotingError
from sandbox.remoting.bodies import TopicRouteData

log = logging.getLogger(__name__)


class NameServers:
    """Name servers of a client: first a random one, then the next after each failure (spec remoting 1.5)."""

    def __init__(
        self,
        addresses: tuple[str, ...],
        api: ClientApi,
        routes: RouteTable,
        chance: Chance,
        journal: Journal,
        *,
        client_id: str,
    ) -> None:
        self._addresses = addresses
        self._api = api
        self._routes = routes
        self._journal = journal
        self._client_id = client_id
        self._at = chance.below(len(addresses)) if addresses else 0

    @property
    def chosen(self) -> str | None:
        return self._addresses[self._at] if self._addresses else None

    async def learn_route(self, topic: str) -> bool:
        """Request the topic's route; return True if a route is known afterwards.  A failed request changes nothing."""
        route = await self._ask(topic)
        if route is not None:
            self._take_over(topic, route)
        return self._routes.knows(topic)

    async def learn_default_route(self, topic: str, template: str, queues: int) -> bool:
        """Use the template topic's route for an unknown topic, with at most `queues` queues per broker.

        Return True if a route is known afterwards.  The broker creates the topic when the first message arrives.
        """
        route = await self._ask(template)
        if route is not None:
            self._take_over(topic, _shrunk(route, queues))
        return self._routes.knows(topic)

    def _take_over(self, topic: str, route: TopicRouteData) -> None:
        if self._routes.learn(topic, route):
            self._journal.write(RouteLearned(client_id=self._client_id, name_server=self.chosen or "", topic=topic))

    async def _ask(self, topic: str) -> TopicRouteData | None:
        """Return the topic's route, or None if no name server returns one."""
        for _ in self._addresses:
            try:
                return await self._api.route(self._addresses[self._at], topic)
            except BrokerRefused as no:  # code 17: the server works and does not have the topic
                log.debug("name server %s refuses route of %s: %s", self.chosen, topic, no)
                return None
            except RemotingError as error:
                log.info("name server %s fails: %s", self.chosen, error)
                self._at = (self._at + 1) % len(self._addresses)
                if not isinstance(error, ConnectFailed):
                    return None
        return None


def _shrunk(route: TopicRouteData, queues: int) -> TopicRouteData:
    """Return the route with at most `queues` queues on each broker."""
    return route._replace(
        queues=tuple(
            queue._replace(read_queues=least, write_queues=least)
            for queue in route.queues
            for least in (min(queues, queue.read_queues),)
        )
    )
