"""Which state of a table somebody has seen."""

from typing import Any, NamedTuple


class DataVersion(NamedTuple):
    """Compared for equality, never for order.  RocketMQ: `DataVersion`."""

    counter: int
    timestamp: int

    def next(self, now_ms: int) -> "DataVersion":
        return DataVersion(self.counter + 1, now_ms)

    def to_json(self) -> dict[str, Any]:
        return {"counter": self.counter, "timestamp": self.timestamp}

    @classmethod
    def from_json(cls, value: Any, otherwise: "DataVersion") -> "DataVersion":
        if not isinstance(value, dict):
            return otherwise
        return cls(int(value.get("counter", 0)), int(value.get("timestamp", 0)))
