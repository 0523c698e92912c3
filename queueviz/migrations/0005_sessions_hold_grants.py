"""What a browser owns are rows, no longer a list in its session that two requests could overwrite."""

import hashlib
import secrets

from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.utils import timezone

SLUGS, SECRET = "sandboxes", "holder"  # in the session: before, and now


def carry_over(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Sessions that list sandboxes hold grants for them from now on."""
    Session, Sandbox, Grant = (apps.get_model(*name) for name in (
        ("sessions", "Session"), ("queueviz", "Sandbox"), ("queueviz", "Grant")))
    coder = SessionStore()
    for row in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        kept = coder.decode(row.session_data)
        if SLUGS not in kept:
            continue
        kept[SECRET] = secrets.token_urlsafe(32)
        holder = hashlib.sha256(kept[SECRET].encode()).hexdigest()
        for sandbox in Sandbox.objects.filter(slug__in=kept.pop(SLUGS), owner__isnull=True):
            Grant.objects.create(sandbox=sandbox, kind="session", role="owner", holder=holder)
        row.session_data = coder.encode(kept)
        row.save(update_fields=["session_data"])


class Migration(migrations.Migration):

    dependencies = [
        ('queueviz', '0004_undo_points'),
        ('sessions', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='grant',
            name='holder',
            field=models.CharField(blank=True, db_index=True, default='', max_length=64),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name='grant',
            name='kind',
            field=models.CharField(choices=[('token', 'API token'), ('claim', 'claim link'), ('share', 'share link'), ('editor', 'account'), ('session', 'browser without account')], max_length=8),
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
    ]
