"""What RocketMQ calls the numbers of requests and answers; a code nobody knows keeps its number."""

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
