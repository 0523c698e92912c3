"""The one WebSocket."""

from django.urls import path

from queueviz.live.consumers import LiveConsumer

routes = [path("ws/live/", LiveConsumer.as_asgi())]
