"""The URL routes of the WebSocket, with its address behind a live link."""

from django.urls import path

from queueviz.live.consumers import LiveConsumer

routes = [path("ws/live/", LiveConsumer.as_asgi()), path("ws/v/<slug:secret>/", LiveConsumer.as_asgi())]
