"""Small texts kept for administrators, by name space and key."""


class KVConfigManager:
    """RocketMQ: `KVConfigManager`.  Kept in memory only: a restarted name server has none."""

    def __init__(self) -> None:
        self.table: dict[str, dict[str, str]] = {}

    def put(self, namespace: str, key: str, value: str) -> None:
        self.table.setdefault(namespace, {})[key] = value

    def get(self, namespace: str, key: str) -> str | None:
        return self.table.get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str) -> None:
        self.table.get(namespace, {}).pop(key, None)

    def all(self, namespace: str) -> dict[str, str] | None:
        values = self.table.get(namespace)
        return dict(sorted(values.items())) if values else None
