"""The QR picture of a course's join address, as one path of an inline SVG."""

from typing import NamedTuple

import segno

QUIET = 4  # light modules around the code, of ISO/IEC 18004


class JoinPicture(NamedTuple):
    """`path`: the dark modules as SVG path data; `side`: the width of the picture in modules."""

    path: str
    side: int


def join_picture(address: str) -> JoinPicture:
    """Return the QR code of an address, with the light margin that cameras need."""
    rows = [list(row) for row in segno.make_qr(address, error="m").matrix]
    path = "".join(
        f"M{x + QUIET} {y + QUIET}h1v1h-1z" for y, row in enumerate(rows) for x, dark in enumerate(row) if dark
    )
    return JoinPicture(path, len(rows) + 2 * QUIET)
