"""Small texts for administrators, by name space and key."""

from sandbox.kernel.errors import BrokerRefused
from sandbox.remoting.codes import ResponseCode

ORDERS = "ORDER_TOPIC_CONFIG"  # the name space of orderly topics
MAX_KEYS = 10_000  # of all name spaces together
MAX_CHARS = 32_768  # of a name space, a key and a value together


class KVConfigManager:
    """Texts by name space and key.  RocketMQ: `KVConfigManager`.

    They are in memory only: a restarted name server has none.
    """

    def __init__(self) -> None:
        self.table: dict[str, dict[str, str]] = {}

    def put(self, namespace: str, key: str, value: str) -> None:
        """Set a text.  Raises BrokerRefused (1) if it is too long, or if there are too many."""
        if len(namespace) + len(key) + len(value) > MAX_CHARS:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"a config item has at most {MAX_CHARS} characters")
        if self.get(namespace, key) is None and sum(map(len, self.table.values())) >= MAX_KEYS:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"a name server keeps at most {MAX_KEYS} config items")
        self.table.setdefault(namespace, {})[key] = value

    def get(self, namespace: str, key: str) -> str | None:
        return self.table.get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str) -> None:
        values = self.table.get(namespace, {})
        values.pop(key, None)
        if not values and namespace != ORDERS:  # RocketMQ keeps all; for this one brokers learn that none is left
            self.table.pop(namespace, None)

    def all(self, namespace: str) -> dict[str, str] | None:
        values = self.table.get(namespace)
        return None if values is None else dict(sorted(values.items()))
