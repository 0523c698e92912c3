"""The visitor's courses, for the menu in the head of pages outside a sandbox."""

from django import template
from django.db import DatabaseError
from django.template.context import Context

from queueviz.access import visitor
from queueviz.courses.course_access import courses_of
from queueviz.courses.models import Course

register = template.Library()

MOST = 20


@register.simple_tag(takes_context=True)
def my_courses(context: Context) -> list[Course]:
    """Return the courses that the visitor teaches or is enrolled in; none if the database cannot be read."""
    request = context.get("request")
    if request is None or not hasattr(request, "user"):
        return []
    try:
        return list(courses_of(visitor.of_request(request))[:MOST])
    except DatabaseError:  # a page that reports this error has a head, too
        return []
