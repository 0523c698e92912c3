"""Before the first test: every client and broker is built.

`python -m tests.interop.prepare` does it ahead of a run, which then finds all of it built: .ci/run does so while other
tests run.
"""

from concurrent.futures import ThreadPoolExecutor

from tests.interop.clients import CLIENTS, Client, Unavailable, java_classpath
from tests.interop.servers import APACHE_4, APACHE_5


def prepare() -> dict[str, str]:
    """Clients that cannot be had here, and why."""
    with ThreadPoolExecutor() as at_once:
        whys = at_once.map(why_missing, CLIENTS)
        at_once.map(java_classpath, (APACHE_4, APACHE_5), ("broker", "broker"))
    return {client.name: why for client, why in zip(CLIENTS, whys, strict=True) if why}


def why_missing(client: Client) -> str:
    try:
        client.build()
    except Unavailable as why:
        return str(why)
    return ""


if __name__ == "__main__":
    print(prepare())
