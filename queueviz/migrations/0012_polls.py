"""Polls of a course with their votes, and how far each lab is open."""

import django.db.models.deletion
from django.db import migrations, models

NUMBER = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
STATES = [("vote", "Vote"), ("hidden", "Closed, hidden"), ("discuss", "Discuss"), ("again", "Vote again"),
          ("run", "Run it"), ("reveal", "Reveal")]


class Migration(migrations.Migration):

    dependencies = [("queueviz", "0011_grades")]

    operations = [
        migrations.AddField("course", "open_until", models.JSONField(blank=True, default=dict)),
        migrations.CreateModel("Poll", [
            ("id", NUMBER),
            ("course", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="polls",
                                         to="queueviz.course")),
            ("number", models.PositiveSmallIntegerField()),
            ("question", models.CharField(max_length=200)),
            ("answers", models.JSONField()),
            ("state", models.CharField(choices=STATES, default="vote", max_length=8)),
            ("shown", models.PositiveSmallIntegerField(blank=True, null=True)),
            ("begun_at", models.DateTimeField(auto_now_add=True)),
        ], {"constraints": [models.UniqueConstraint(fields=("course", "number"), name="one_number_per_poll")]}),
        migrations.CreateModel("Vote", [
            ("id", NUMBER.clone()),
            ("poll", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="votes",
                                       to="queueviz.poll")),
            ("enrolment", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="votes",
                                            to="queueviz.enrolment")),
            ("round", models.PositiveSmallIntegerField()),
            ("answer", models.PositiveSmallIntegerField()),
        ], {"constraints": [
            models.UniqueConstraint(fields=("poll", "enrolment", "round"), name="one_vote_per_round")]}),
    ]
