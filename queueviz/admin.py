"""The Django admin for the host of the server.  Digests are hidden, and the audit is read-only."""

from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from queueviz.clusters import attached_clusters  # noqa: F401 hears what is saved here
from queueviz.models import AuditRecord, Cluster, Grant, LtiPlatform, PipelineRun, Sandbox

admin.site.index_template = "queueviz/pages/admin_index.html"


@admin.register(Sandbox)
class SandboxAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("slug", "name", "template", "owner", "visibility", "visited_at", "expires_at")
    list_filter = ("template", "visibility", "of_host")
    search_fields = ("slug", "name", "owner__username")


@admin.register(Grant)
class GrantAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("sandbox", "kind", "role", "user", "created_at", "expires_at", "revoked_at")
    list_filter = ("kind", "role")
    exclude = ("digest", "holder")


@admin.register(Cluster)
class ClusterAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The admin of attached clusters.

    Changes reach the engine.  Visitors who lose a right are disconnected from the pages.
    """

    list_display = ("name", "title", "name_servers", "audience", "tls")
    list_filter = ("audience",)
    search_fields = ("name", "title", "name_servers")
    filter_horizontal = ("viewers", "operators")
    fieldsets = (
        (None, {"fields": ("name", "title")}),
        (_("Cluster address"), {"fields": ("name_servers", "tls", "access_key", "secret_variable")}),
        (_("Who can view, and who can reset"), {"fields": ("audience", "viewers", "operators")}),
    )

    def get_readonly_fields(self, request: object, obj: Any = None) -> tuple[str, ...]:
        """Return the read-only fields: `name` after creation, because links and the audit contain it."""
        return ("name",) if obj is not None else ()


class LtiPlatformForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean(self) -> dict[str, object]:
        """Validate the platform's addresses, and report those to which the server must not send requests."""
        from queueviz.lti import outgoing  # its client takes long to import, in each command

        values = super().clean() or {}
        for name in ("auth_url", "token_url", "key_set_url"):
            try:
                outgoing.host_of(values.get(name) or "")
            except outgoing.AddressRefused:
                self.add_error(name, _("The address must begin with https:// and have no user, password or fragment."))
        for name in ("deployments", "hosts"):
            if not isinstance(listed := values.get(name) or [], list) or not all(
                isinstance(item, str) for item in listed
            ):
                self.add_error(name, _('Enter a list of strings, for example ["1"].'))
            elif name == "hosts" and not all(outgoing.is_host(host.lower()) for host in listed):
                self.add_error(name, _("Hosts such as files.example.org, without https:// and without a path."))
        return values


@admin.register(LtiPlatform)
class LtiPlatformAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The admin of learning platforms (LMS) registered by hand (docs/lti.md)."""

    form = LtiPlatformForm
    list_display = ("name", "issuer", "client_id", "owner", "made_at")
    search_fields = ("name", "issuer", "client_id")


class Recorded(admin.ModelAdmin):  # type: ignore[type-arg]
    """The admin of rows that only the server writes."""

    def has_change_permission(self, request: object, obj: object = None) -> bool:
        return False

    def has_add_permission(self, request: object) -> bool:
        return False


@admin.register(PipelineRun)
class PipelineRunAdmin(Recorded):
    list_display = ("run", "sandbox", "job", "state", "who", "asked_at", "started_at", "ended_at")
    list_filter = ("state", "job")
    search_fields = ("run", "sandbox__slug")
    exclude = ("visitor",)


@admin.register(AuditRecord)
class AuditRecordAdmin(Recorded):
    list_display = ("at", "what", "slug", "who")
    list_filter = ("what",)
    search_fields = ("slug", "who")
    date_hierarchy = "at"

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False
