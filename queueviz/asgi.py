"""The ASGI application that Daphne serves: pages over HTTP, boards over one WebSocket."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "queueviz.settings")
pages = get_asgi_application()  # first: it fills the app registry the imports below need

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.sessions import SessionMiddlewareStack  # noqa: E402

from queueviz.live.routing import routes  # noqa: E402

application = ProtocolTypeRouter({"http": pages, "websocket": SessionMiddlewareStack(URLRouter(routes))})
