"""Port ranges of test processes: disjoint, and below those of outgoing connections."""

import os

_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_SLOT = (os.getppid() + _WORKER) % 16  # workers of one run have one parent

OF_SERVERS = 20_000 + _SLOT * 750  # of a server that is a process of its own
OF_ENGINES = OF_SERVERS + 500  # of an engine inside the tests
