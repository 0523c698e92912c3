"""One writer of what browsers send, and one reader of their courses, for each loop that has their sockets."""

import asyncio
import weakref

from channels.db import database_sync_to_async

from queueviz.access.visitor import Visitor
from queueviz.browsers.arrivals import Arrivals
from queueviz.browsers.course_reader import course_news
from queueviz.browsers.keeper import Keeper
from queueviz.browsers.news import CourseNews
from queueviz.courses import lite_runs

_keepers: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Keeper]" = weakref.WeakKeyDictionary()
_news: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, CourseNews]" = weakref.WeakKeyDictionary()
_arrivals: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Arrivals[Visitor, lite_runs.Known]]" = (
    weakref.WeakKeyDictionary()
)


def arrivals_of_this_loop() -> Arrivals[Visitor, lite_runs.Known]:
    """Return the browsers of the loop that connect at the moment."""
    loop = asyncio.get_running_loop()
    if loop not in _arrivals:
        _arrivals[loop] = Arrivals(database_sync_to_async(lite_runs.visit_all))
    return _arrivals[loop]


def keeper_of_this_loop() -> Keeper:
    """Return the loop's writer, which is made with the first browser."""
    loop = asyncio.get_running_loop()
    if loop not in _keepers:
        _keepers[loop] = Keeper(
            database_sync_to_async(lite_runs.keep),
            database_sync_to_async(lite_runs.note),
            database_sync_to_async(lite_runs.note_connected),
        )
    return _keepers[loop]


def news_of_this_loop() -> CourseNews:
    """Return the loop's reader of courses."""
    loop = asyncio.get_running_loop()
    if loop not in _news:
        _news[loop] = CourseNews(database_sync_to_async(course_news))
    return _news[loop]
