"""What an action's function returns."""

from collections.abc import Callable

CarryOut = Callable[[int, str], None]
"""Do it: called with the seq of the ActionTaken and who acts, right after the journal has it."""
