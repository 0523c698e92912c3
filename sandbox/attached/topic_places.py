"""The brokers of a topic, for a question that cannot wait for the next round of polls."""

from sandbox.attached.picture import RUNNING, Picture
from sandbox.attached.reach import Reach
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.bodies import TopicConfig


async def brokers_with(reach: Reach, picture: Picture, topic: str) -> dict[str, TopicConfig]:
    """Return the topic's configuration by broker name.

    Brokers are asked again before the topic is reported missing.  Raises ActionRefused: 404 when no broker has it,
    503 when none answers.
    """
    if not picture.configs(topic):
        running = [broker for broker in picture.masters().values() if broker.state == RUNNING]
        if not running:
            raise ActionRefused(503, "No broker answers.", "Try again when the cluster is reachable.")
        for broker in running:
            picture.topics[broker.name] = await reach.topic_configs(broker.address)
    configs = picture.configs(topic)
    if not configs:
        raise ActionRefused(
            404, "Topic {topic} does not exist.", "Choose an existing topic.", field="topic", topic=topic
        )
    return configs
