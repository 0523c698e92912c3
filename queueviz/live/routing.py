"""The URL routes of the WebSockets: of pages, of pages behind a live link, and of engines in browsers."""

from django.urls import path

from queueviz.live.browser_sockets import BrowserConsumer
from queueviz.live.consumers import LiveConsumer

routes = [
    path("ws/live/", LiveConsumer.as_asgi()),
    path("ws/v/<slug:secret>/", LiveConsumer.as_asgi()),
    path("ws/lite/<slug:slug>/", BrowserConsumer.as_asgi()),
]
