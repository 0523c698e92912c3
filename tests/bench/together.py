"""Many who act within a short time, each in a thread of its own."""

import os
import threading
import time
from collections.abc import Callable

FIRST_S = 1.0  # from now on, until the first one acts: all threads are there by then


def act_together(actors: int, within_s: float, act: Callable[[int], None]) -> float:
    """Call `act` with each number below `actors`, evenly spread over `within_s` seconds.

    Returns the machine's load when the last one is done.
    """
    begins_s = time.monotonic() + FIRST_S

    def wait_and_act(number: int) -> None:
        time.sleep(max(0.0, begins_s + within_s * number / actors - time.monotonic()))
        act(number)

    threads = [threading.Thread(target=wait_and_act, args=(number,)) for number in range(actors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return os.getloadavg()[0]
