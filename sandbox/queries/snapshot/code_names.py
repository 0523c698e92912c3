"""RocketMQ's names of request and response codes; an unknown code keeps its number."""

from sandbox.remoting.codes import RequestCode, ResponseCode


def request_name(code: int | None) -> str | None:
    try:
        return None if code is None else RequestCode(code).name
    except ValueError:
        return str(code)


def response_name(code: int | None) -> str | None:
    try:
        return None if code is None else ResponseCode(code).name
    except ValueError:
        return str(code)


_FIRST_COUNTED = 232  # V4_1_0_SNAPSHOT: from here on ten releases per minor version, each with a snapshot before it
_OLDER = {28: "3.0.7-SNAPSHOT", 37: "3.0.11", 62: "3.1.8-SNAPSHOT", 121: "3.4.9"}


def release_name(version: int | None) -> str | None:
    """Return the release of a client, whose version is an ordinal of `MQVersion` (spec remoting 1.1).

    >>> release_name(409), release_name(473), release_name(232), release_name(7)
    ('4.9.8', '5.3.0', '4.1.0-SNAPSHOT', '7')
    """
    if version is None or version < _FIRST_COUNTED:
        return None if version is None else _OLDER.get(version, str(version))
    releases, is_release = divmod(version - _FIRST_COUNTED, 2)
    minors, patch = divmod(releases, 10)
    major, minor = divmod(minors + 41, 10)
    return f"{major}.{minor}.{patch}" + ("" if is_release else "-SNAPSHOT")
