"""Sandboxes that were made of another one's run name it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("queueviz", "0005_sessions_hold_grants")]

    operations = [
        migrations.AddField("sandbox", "branch_of", models.CharField(blank=True, default="", max_length=64)),
        migrations.AddField("sandbox", "branch_at", models.BigIntegerField(blank=True, null=True)),
    ]
