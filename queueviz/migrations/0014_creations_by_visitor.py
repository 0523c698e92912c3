"""Starts of sandboxes are counted by visitor, too."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("queueviz", "0013_lti")]

    operations = [
        migrations.AddField("auditrecord", "visitor", models.CharField(blank=True, default="", max_length=64),
                            preserve_default=False),
        migrations.AddIndex("auditrecord", models.Index(fields=["what", "visitor", "at"],
                                                        name="queueviz_au_what_e004f0_idx")),
    ]
