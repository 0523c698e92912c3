"""The command: one request or one response.  RocketMQ: `RemotingCommand`."""

from enum import IntEnum

FLAG_RESPONSE = 1
FLAG_ONEWAY = 2

VERSION_4_9_8 = 409  # the version we report: ordinal of MQVersion (spec remoting 1.1)


class Language(IntEnum):
    JAVA = 0
    CPP = 1
    DOTNET = 2
    PYTHON = 3
    DELPHI = 4
    ERLANG = 5
    RUBY = 6
    OTHER = 7
    HTTP = 8
    GO = 9
    PHP = 10
    OMS = 11
    RUST = 12


class SerializeType(IntEnum):
    JSON = 0
    ROCKETMQ = 1


class RemotingCommand:
    """One request or response.

    `ext` is the custom header as strings; `body` is None or bytes.  One object is created for every command, so the
    class has slots and no properties.
    """

    __slots__ = ("body", "code", "ext", "flag", "language", "opaque", "remark", "serialize_type", "version")

    def __init__(
        self,
        code: int,
        ext: dict[str, str] | None = None,
        body: bytes | None = None,
        *,
        flag: int = 0,
        opaque: int = 0,
        remark: str | None = None,
        language: int = Language.JAVA,
        version: int = VERSION_4_9_8,
        serialize_type: int = SerializeType.JSON,
    ) -> None:
        self.code = code
        self.ext = ext
        self.body = body
        self.flag = flag
        self.opaque = opaque
        self.remark = remark
        self.language = language
        self.version = version
        self.serialize_type = serialize_type

    @property
    def is_response(self) -> bool:
        return bool(self.flag & FLAG_RESPONSE)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & FLAG_ONEWAY)

    def reply(
        self, code: int, ext: dict[str, str] | None = None, body: bytes | None = None, *, remark: str | None = None
    ) -> "RemotingCommand":
        """Return the response to this request: same opaque, same serialize type."""
        return RemotingCommand(
            code, ext, body, flag=FLAG_RESPONSE, opaque=self.opaque, remark=remark, serialize_type=self.serialize_type
        )

    def __repr__(self) -> str:
        kind = "response" if self.is_response else "oneway" if self.is_oneway else "request"
        body_bytes = len(self.body or b"")
        return f"<{kind} {int(self.code)} #{self.opaque} {self.ext or {}} body={body_bytes} {self.remark or ''}>"
