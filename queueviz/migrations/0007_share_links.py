"""Share links: what they show, and when they were last opened."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("queueviz", "0006_branches")]

    operations = [
        migrations.AddField("grant", "shows", models.JSONField(blank=True, default=dict)),
        migrations.AddField("grant", "used_at", models.DateTimeField(blank=True, null=True)),
    ]
