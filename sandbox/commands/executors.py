"""Registry of the functions that execute actions, by kind: `@executes(CrashConsumer)`."""

from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import Action
from sandbox.control.handlers import Handlers

EXECUTORS: Handlers[Action, CarryOut] = Handlers(Action)
executes = EXECUTORS.takes
