"""Platforms, linked courses, learners' places and the scores on their way to an LMS."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('queueviz', '0012_polls'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LtiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sealed', models.TextField()),
                ('made_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='LtiInvitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lti_invitations', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='LtiPlatform',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('issuer', models.CharField(max_length=255)),
                ('client_id', models.CharField(max_length=255)),
                ('auth_url', models.CharField(max_length=500)),
                ('token_url', models.CharField(max_length=500)),
                ('key_set_url', models.CharField(max_length=500)),
                ('audience', models.CharField(blank=True, max_length=500)),
                ('deployments', models.JSONField(default=list)),
                ('hosts', models.JSONField(blank=True, default=list)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='lti_platforms', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='LtiContext',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('deployment', models.CharField(max_length=255)),
                ('context', models.CharField(max_length=255)),
                ('title', models.CharField(blank=True, max_length=80)),
                ('memberships_url', models.CharField(blank=True, max_length=500)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('course', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lti_contexts', to='queueviz.course')),
                ('platform', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='contexts', to='queueviz.ltiplatform')),
            ],
        ),
        migrations.CreateModel(
            name='LtiSeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user_digest', models.CharField(max_length=64, unique=True)),
                ('user_sealed', models.TextField(blank=True)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('enrolment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='lti_seat', to='queueviz.enrolment')),
                ('platform', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='seats', to='queueviz.ltiplatform')),
            ],
        ),
        migrations.CreateModel(
            name='LtiScore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lab', models.CharField(max_length=48)),
                ('line_item', models.CharField(max_length=500)),
                ('sent_score', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('sent_finished', models.BooleanField(default=False)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('why', models.CharField(blank=True, max_length=16)),
                ('status', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('seat', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='queueviz.ltiseat')),
            ],
        ),
        migrations.CreateModel(
            name='LtiLaunch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('nonce_digest', models.CharField(max_length=64, unique=True)),
                ('state_digest', models.CharField(max_length=64, unique=True)),
                ('kind', models.CharField(choices=[('learner', 'Learner'), ('instructor', 'Instructor'), ('deep_link', 'Deep Link')], max_length=10)),
                ('lab', models.CharField(blank=True, max_length=48)),
                ('claims', models.JSONField(default=dict)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('entered_at', models.DateTimeField(null=True)),
                ('platform', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='launches', to='queueviz.ltiplatform')),
                ('seat', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='launches', to='queueviz.ltiseat')),
            ],
        ),
        migrations.AddConstraint(
            model_name='ltiplatform',
            constraint=models.UniqueConstraint(fields=('issuer', 'client_id'), name='one_client_per_issuer'),
        ),
        migrations.AddConstraint(
            model_name='lticontext',
            constraint=models.UniqueConstraint(fields=('platform', 'deployment', 'context'), name='one_link_per_context'),
        ),
        migrations.AddConstraint(
            model_name='ltiscore',
            constraint=models.UniqueConstraint(fields=('seat', 'lab', 'line_item'), name='one_score_per_line_item'),
        ),
    ]
