"""The ASGI application that Daphne serves: pages over HTTP, boards over one WebSocket."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "queueviz.settings")
django.setup(set_prefix=False)  # first: it fills the app registry the imports below need

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.sessions import SessionMiddlewareStack  # noqa: E402

from queueviz.live.routing import routes  # noqa: E402
from queueviz.operations.request_threads import PageHandler  # noqa: E402

application = ProtocolTypeRouter({"http": PageHandler(), "websocket": SessionMiddlewareStack(URLRouter(routes))})
