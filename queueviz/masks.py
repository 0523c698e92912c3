"""Behind a live link a sandbox has another name: its own is an address that goes on when the link has ended.

Names are changed on the border, for pages, answers and frames alike: inside, boards and engine know the sandbox by its
slug.  The addresses of other sandboxes (of which it is a branch, whose seed it has) are left out, and of who acted
there is the role alone: rows of events are JSON wherever they are sent.
"""

import re
from typing import NamedTuple

from queueviz import slugs
from queueviz.visitor import digest
from sandbox.control.rights import ROLES

ALIAS_CHARS = 8
OTHER = "another-sandbox"
ACTED = re.compile(rf'("by"\s*:\s*"(?:{"|".join(ROLES)})) (?:[^"\\]|\\.)*"')  # a JSON string to its end


class Mask(NamedTuple):
    """`slug` is the sandbox's, `secret` the link's."""

    slug: str
    secret: str

    @property
    def alias(self) -> str:
        """What the link's readers know the sandbox as."""
        return f"link-{digest(self.secret)[:ALIAS_CHARS]}"

    def inward(self, text: str) -> str:
        return text.replace(self.alias, self.slug)

    def outward(self, text: str) -> str:
        text = text.replace(slugs.root_of(self.slug), f"/v/{self.secret}/")
        text = text.replace(slugs.api_of(self.slug), f"/v/{self.secret}/api")
        text = ACTED.sub(r'\1"', text)
        return slugs.ANY.sub(OTHER, text.replace(self.slug, self.alias))
