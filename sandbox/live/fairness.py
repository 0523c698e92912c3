"""The order of reading boards under load: many boards of one sandbox do not delay those of another."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from sandbox.live.channel import Channel


def in_fair_order(due: Iterable[Channel], served_s: Mapping[str, float], now_s: float) -> list[Channel]:
    """Return the boards in rounds with one board of each sandbox, beginning with the sandbox served longest ago.

    Within a sandbox the board with the lowest recent cost of a viewer comes first.
    """
    of_slug: dict[str, list[Channel]] = defaultdict(list)
    for channel in sorted(due, key=lambda channel: (channel.cost(now_s), channel.read_at_s)):
        of_slug[channel.slug].append(channel)
    slugs = sorted(of_slug, key=lambda slug: served_s.get(slug, float("-inf")))
    rounds = max(map(len, of_slug.values()), default=0)
    return [of_slug[slug][n] for n in range(rounds) for slug in slugs if n < len(of_slug[slug])]
