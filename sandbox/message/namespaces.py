"""Names inside a namespace: `INST%orders`, and `%RETRY%INST%clerks` for a group's retry topic.

RocketMQ 4.9: `NamespaceUtil`.  Only clients have namespaces; for a broker they are topics and groups with `%` in
their names.
"""

SEPARATOR = "%"
PREFIXES = ("%RETRY%", "%DLQ%")  # these stay in front
SYSTEM = ("rmq_sys_", "CID_RMQ_SYS_", "RMQ_SYS_")
SYSTEM_NAMES = frozenset(
    (
        "TBW102",
        "SCHEDULE_TOPIC_XXXX",
        "BenchmarkTest",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
        "TRANS_CHECK_MAX_TIME_TOPIC",
    )
)


def with_namespace(namespace: str, name: str) -> str:
    """Return a topic's or group's name inside the namespace.

    A name that is inside already stays as it is, and so do system names, and all names if the namespace is empty.
    """
    prefix, plain = _split(name)
    if not namespace or not name or _is_system(name) or plain.startswith(namespace + SEPARATOR):
        return name
    return f"{prefix}{namespace}{SEPARATOR}{plain}"


def without_namespace(namespace: str, name: str) -> str:
    """Return the name as the application wrote it; a name of another namespace stays unchanged."""
    prefix, plain = _split(name)
    inside = namespace + SEPARATOR
    return prefix + plain.removeprefix(inside) if namespace and plain.startswith(inside) else name


def _split(name: str) -> tuple[str, str]:
    """Return the prefix of a retry or dead-letter topic, and the rest."""
    prefix = next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")
    return prefix, name[len(prefix) :]


def _is_system(name: str) -> bool:
    return name in SYSTEM_NAMES or name.startswith(SYSTEM)
