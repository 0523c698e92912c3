"""Our scripts, styles and fonts: names with a hash, squeezed once, served by this process."""

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Also rewrites `import … from "./strip.js"`, so that modules need no bundler and no import map."""

    support_js_module_import_aggregation = True


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise with whole answers: its files are small, and Django cannot stream a plain file under ASGI."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file as file:
                body = file.read()
        answer = HttpResponse(body, status=int(found.status))
        del answer["content-type"]
        for key, value in found.headers:
            answer[key] = value
        return answer
