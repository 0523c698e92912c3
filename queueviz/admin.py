"""The host's own view of the rows.  Digests are no secrets, yet nobody needs to see or edit them."""

from django.contrib import admin

from queueviz.models import AuditRecord, Grant, Sandbox


@admin.register(Sandbox)
class SandboxAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("slug", "name", "template", "owner", "visibility", "visited_at", "expires_at")
    list_filter = ("template", "visibility", "of_host")
    search_fields = ("slug", "name", "owner__username")


@admin.register(Grant)
class GrantAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("sandbox", "kind", "role", "user", "created_at", "expires_at", "revoked_at")
    list_filter = ("kind", "role")
    exclude = ("digest",)


@admin.register(AuditRecord)
class AuditRecordAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("at", "what", "slug", "who")
    list_filter = ("what",)
    search_fields = ("slug", "who")

    def has_change_permission(self, request: object, obj: object = None) -> bool:
        return False

    def has_add_permission(self, request: object) -> bool:
        return False
