"""Base class of all actions, with the declarations that each adds to its fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sandbox.control.rights import Role, Verb
from sandbox.kernel.sentences import Sentence


@dataclass(frozen=True, kw_only=True)
class Action:
    """Base of all actions, as a dataclass of the action's fields.

    `verb`: the right it needs.  `only`: the one role that has this right, if set.  `said`: its sentence in the
    journal.  `added`: fields that the journal contains only if they differ from their default, because older
    journals lack them.

    Of several sentences the key "" is the general one.  "slow_key" applies if that field is set, "rate=0" if it has
    that value.  Sentences contain field names, and the site translates them.
    """

    verb: ClassVar[Verb]
    only: ClassVar[Role | None] = None
    added: ClassVar[frozenset[str]] = frozenset()
    said: ClassVar[Sentence | Mapping[str, Sentence]]

    @classmethod
    def sentences(cls) -> Mapping[str, Sentence]:
        return cls.said if isinstance(cls.said, Mapping) else {"": cls.said}
