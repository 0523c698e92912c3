"""The page of a class's difficulties: bar charts, each with its table."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from queueviz.access import visitor
from queueviz.courses.analytics import JOB, analytics_of
from queueviz.courses.course_access import visit_course
from queueviz.pages.course_jobs import job_of


@require_GET
def analytics(request: HttpRequest, slug: str) -> HttpResponse:
    course = visit_course(visitor.of_request(request), slug, "grade").course
    result = analytics_of(course)
    bars = {plot.name: {"labels": plot.labels, "values": plot.values, "digits": plot.digits} for plot in result.plots}
    context = {"found": result, "bars": bars, **job_of(course, JOB)}
    return render(request, "queueviz/pages/course_analytics.html", context)
