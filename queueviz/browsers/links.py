"""The browsers that are connected to this process, by the slug of their sandbox.  Any thread may read it."""

from queueviz.browsers.link import Link

_links: dict[str, Link] = {}


def link_of(slug: str) -> Link | None:
    return _links.get(slug)


def enter(link: Link) -> Link | None:
    """Make the link that of its sandbox; return the one that was before."""
    before = _links.get(link.slug)
    _links[link.slug] = link
    return before


def leave(link: Link) -> None:
    if _links.get(link.slug) is link:
        del _links[link.slug]


def figures() -> dict[str, int]:
    """Return the number of connected browsers, for `/healthz/live`."""
    return {"browsers": len(_links)}
