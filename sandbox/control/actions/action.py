"""The base of all actions, with the declarations that each adds to its fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sandbox.control.rights import Role, Verb
from sandbox.kernel.sentences import Sentence


@dataclass(frozen=True, kw_only=True)
class Action:
    """`verb`: the right it needs.  `only`: the one role that has it.  `said`: its sentence in the journal.
    `added`: fields that journals have only at other values than their default, as those before had none.

    Of several sentences the key "" is the general one; "slow_key" is taken when that field was given, "rate=0" when it
    had that value.  Sentences name fields, and the site translates them.
    """

    verb: ClassVar[Verb]
    only: ClassVar[Role | None] = None
    added: ClassVar[frozenset[str]] = frozenset()
    said: ClassVar[Sentence | Mapping[str, Sentence]]

    @classmethod
    def sentences(cls) -> Mapping[str, Sentence]:
        return cls.said if isinstance(cls.said, Mapping) else {"": cls.said}
