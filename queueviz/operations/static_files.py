"""The site's scripts, styles and fonts: hashed names, no comments, compressed once, served by this process."""

import re
from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

LITE = "lite/"  # files of a browser that runs a sandbox itself; folders there are named by a digest of their contents
DIGEST = re.compile(r"lite/[0-9a-f]{8,}/")
WORKER = re.compile(r"lite/(?:[^/]+/)?worker\.(?:\w+\.)?js$")
WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"  # no page may compile

COMMENT = re.compile(r"^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\n", re.DOTALL | re.MULTILINE)


def without_comments(source: str) -> str:
    """Return the source without comments on lines of their own: a tenth of the bytes of a first view."""
    return COMMENT.sub("", source)


class Uncommented:
    """A mixin for storages that opens files without their comments."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def open(self, path: str) -> "File[bytes]":
        with self._storage.open(path) as file:
            return ContentFile(without_comments(file.read().decode()).encode())


class HashedFiles(CompressedManifestStaticFilesStorage):
    """A storage of static files with a hash in their names.

    It also rewrites `import … from "./strip.js"`, so no import map is needed.
    """

    support_js_module_import_aggregation = True
    max_post_process_passes = 12  # one for each link of the longest chain of imports

    def post_process(self, paths: dict[str, tuple[Any, str]], *args: Any, **options: Any) -> Iterator[Any]:
        sources = {
            name: (Uncommented(storage), path) if is_ours(name) else (storage, path)
            for name, (storage, path) in paths.items()
            if not name.startswith(LITE)
        }
        yield from super().post_process(sources, *args, **options)
        for name, compressed_name in self.compress_files(name for name in paths if name.startswith(LITE)):
            yield name, compressed_name, True


def is_ours(name: str) -> bool:
    return name.startswith("queueviz/") and name.endswith((".js", ".css"))


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise middleware that sends each file as one answer.

    Most files are small, and Django cannot stream a plain file under ASGI.
    """

    def immutable_file_test(self, path: str, url: str) -> bool:
        if DIGEST.match(url.removeprefix(self.static_prefix)):
            return True
        return bool(super().immutable_file_test(path, url))

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        response = static_file.get_response(request.method, request.META)
        body = b""
        if response.file is not None:
            with response.file as file:
                body = file.read()
        answer = HttpResponse(body, status=int(response.status))
        del answer["content-type"]
        for key, value in response.headers:
            answer[key] = value
        if WORKER.search(request.path_info):
            answer["Content-Security-Policy"] = WORKER_POLICY
        return answer
