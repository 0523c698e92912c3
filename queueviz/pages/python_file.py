"""Downloads of Python files."""

from django.http import HttpResponse

PYTHON = "text/x-python; charset=utf-8"


def python_file(text: str, name: str) -> HttpResponse:
    """Return a program as a download with this file name."""
    return HttpResponse(text, content_type=PYTHON, headers={"Content-Disposition": f'attachment; filename="{name}"'})
