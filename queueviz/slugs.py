"""Addresses people can read aloud: two words and six letters."""

import secrets

LETTERS = "abcdefghjkmnpqrstuvwxyz"  # no i, l, o: they are misheard and misread
LETTER_COUNT = 6
FIRST = (
    "amber", "brisk", "calm", "clear", "dusky", "early", "fleet", "green", "happy", "light", "lucky", "mellow", "noble",
    "plain", "quick", "quiet", "rapid", "silver", "sunny", "swift", "tidy", "vivid", "warm", "young",
)  # fmt: skip
SECOND = (
    "badger", "beaver", "crane", "curlew", "falcon", "finch", "gecko", "heron", "ibex", "lark", "lynx", "marten",
    "otter", "owl", "panda", "petrel", "plover", "puffin", "raven", "robin", "seal", "stork", "swan", "wren",
)  # fmt: skip


def new_slug() -> str:
    """`quiet-otter-hqnzrp`: hard to guess, since whoever has the address may watch."""
    letters = "".join(secrets.choice(LETTERS) for _ in range(LETTER_COUNT))
    return f"{secrets.choice(FIRST)}-{secrets.choice(SECOND)}-{letters}"
