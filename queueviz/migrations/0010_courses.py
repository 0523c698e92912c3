"""Courses, their students' places, and the sandbox of each lab of each student."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

NUMBER = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
FEEDBACK = [("at_once", "at once"), ("at_end", "when it is due"), ("on_release", "when it is released")]


class Migration(migrations.Migration):

    dependencies = [("queueviz", "0009_engine_leases"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel("Course", [
            ("id", NUMBER),
            ("slug", models.CharField(max_length=64, unique=True)),
            ("title", models.CharField(max_length=80)),
            ("teacher", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="courses",
                                          to=settings.AUTH_USER_MODEL)),
            ("code", models.CharField(blank=True, max_length=6, null=True, unique=True)),
            ("most_students", models.PositiveSmallIntegerField(default=60)),
            ("labs", models.JSONField(default=list)),
            ("due_at", models.DateTimeField(blank=True, null=True)),
            ("feedback", models.CharField(choices=FEEDBACK, default="at_once", max_length=12)),
            ("released_at", models.DateTimeField(blank=True, null=True)),
            ("created_at", models.DateTimeField(auto_now_add=True)),
        ]),
        migrations.AddField("sandbox", "course", models.ForeignKey(
            blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="sandboxes",
            to="queueviz.course")),
        migrations.CreateModel("Enrolment", [
            ("id", NUMBER.clone()),
            ("course", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="enrolments",
                                         to="queueviz.course")),
            ("pseudonym", models.CharField(max_length=32)),
            ("name", models.CharField(blank=True, max_length=80)),
            ("digest", models.CharField(max_length=64, unique=True)),
            ("time_factor", models.FloatField(default=1.0)),
            ("asks_since", models.DateTimeField(blank=True, null=True)),
            ("question", models.CharField(blank=True, max_length=140)),
            ("seen_at", models.DateTimeField(blank=True, null=True)),
            ("joined_at", models.DateTimeField(auto_now_add=True)),
            ("removed_at", models.DateTimeField(blank=True, null=True)),
        ], {"constraints": [models.UniqueConstraint(fields=("course", "pseudonym"), name="one_pseudonym_per_course")]}),
        migrations.CreateModel("Submission", [
            ("id", NUMBER.clone()),
            ("enrolment", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="submissions",
                                            to="queueviz.enrolment")),
            ("lab", models.CharField(max_length=48)),
            ("sandbox", models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL,
                                             related_name="submission", to="queueviz.sandbox")),
            ("steps_met", models.PositiveSmallIntegerField(default=0)),
            ("steps", models.PositiveSmallIntegerField()),
            ("score", models.PositiveSmallIntegerField(default=0)),
            ("begun_at", models.DateTimeField(auto_now_add=True)),
            ("finished_at", models.DateTimeField(blank=True, null=True)),
        ], {"constraints": [models.UniqueConstraint(fields=("enrolment", "lab"), name="one_submission_per_lab")]}),
    ]
