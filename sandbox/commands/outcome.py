"""Return type of an action's function."""

from collections.abc import Callable

CarryOut = Callable[[int, str], None]
"""Makes the change: called with the seq of the ActionTaken and the actor, right after the journal has it."""
