"""What each submission is worth, and what regrades of a course found."""

import django.db.models.deletion
from django.db import migrations, models

NUMBER = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):

    dependencies = [("queueviz", "0010_courses")]

    operations = [
        migrations.CreateModel("Grade", [
            ("id", NUMBER),
            ("submission", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name="grade",
                                                to="queueviz.submission")),
            ("attempt", models.PositiveIntegerField(default=1)),
            ("exam", models.BooleanField(default=False)),
            ("score", models.PositiveSmallIntegerField(default=0)),
            ("steps", models.JSONField(default=list)),
            ("receipts", models.JSONField(default=dict)),
            ("changed_at", models.DateTimeField(db_index=True)),
            ("regraded_at", models.DateTimeField(blank=True, null=True)),
        ]),
        migrations.CreateModel("Regrade", [
            ("id", NUMBER),
            ("course", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="regrades",
                                         to="queueviz.course")),
            ("began_at", models.DateTimeField()),
            ("attempts", models.PositiveIntegerField(default=0)),
            ("found", models.JSONField(default=dict)),
            ("differences", models.JSONField(default=list)),
            ("published_at", models.DateTimeField(blank=True, null=True)),
        ], options={"ordering": ("-pk",)}),
    ]
