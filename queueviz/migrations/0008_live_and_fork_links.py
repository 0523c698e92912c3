"""Share links that lead to the sandbox itself."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("queueviz", "0007_share_links")]

    operations = [
        migrations.AlterField("grant", "kind", models.CharField(max_length=8, choices=[
            ("token", "API token"), ("claim", "claim link"), ("share", "share link"), ("live", "live link"),
            ("fork", "fork link"), ("editor", "account"), ("session", "browser without account")])),
    ]
