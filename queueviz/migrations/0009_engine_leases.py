"""Several engines share one database: until when each may write, and which has which sandbox."""

from django.db import migrations, models

NUMBER = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):

    dependencies = [("queueviz", "0008_live_and_fork_links")]

    operations = [
        migrations.CreateModel("EngineLease", [
            ("id", NUMBER),
            ("engine", models.CharField(max_length=64, unique=True)),
            ("name", models.CharField(db_index=True, max_length=80)),
            ("host", models.CharField(max_length=255)),
            ("is_draining", models.BooleanField(default=False)),
            ("expires_at", models.DateTimeField()),
            ("awake", models.IntegerField(default=0)),
            ("cap", models.IntegerField(default=0)),
            ("frame_age_ms", models.IntegerField(default=0)),
        ]),
        migrations.CreateModel("SandboxPlace", [
            ("id", NUMBER.clone()),
            ("slug", models.CharField(max_length=64, unique=True)),
            ("engine", models.CharField(blank=True, db_index=True, default="", max_length=64)),
            ("is_clean", models.BooleanField(default=True)),
        ]),
    ]
