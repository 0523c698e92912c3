"""Every address (catalogue 12)."""

from django.contrib import admin
from django.urls import path, register_converter
from django.views.i18n import set_language

from queueviz import api_clusters, api_replay, api_runs, slugs  # noqa: F401 they add routes to `api`
from queueviz.api import api
from queueviz.pages import (
    accounts,
    audit,
    branch,
    claims,
    compare,
    fidelity,
    first_steps,
    health,
    history,
    home,
    incidents,
    keep,
    labs,
    linked,
    metrics,
    pipeline,
    recipe,
    sandbox,
    share,
)

register_converter(slugs.AttachedName, "attached")

urlpatterns = [
    path("", home.landing, name="home"),
    path("places/", home.standing, name="places"),
    path("new/", home.new, name="new"),
    path("claim/<str:token>/", home.claim, name="claim"),
    path("recipe/", recipe.recipe, name="recipe"),
    path("incidents/", incidents.index, name="incidents"),
    path("incidents/<slug:slug>/", incidents.open_one, name="incident-open"),
    path("labs/", labs.index, name="labs"),
    path("labs/exam/<slug:pack>/", labs.exam, name="lab-exam"),
    path("labs/<slug:lab>/", labs.start, name="lab-start"),
    path("labs/<slug:lab>/example/", labs.example, name="lab-example"),
    path("labs/<slug:lab>/example.qvr", labs.recording, name="lab-recording"),
    path("fidelity/", fidelity.fidelity, name="fidelity"),
    path("theme/", home.theme, name="theme"),
    path("first-steps/dismiss/", first_steps.dismiss, name="dismiss-first-step"),
    path("language/", set_language, name="set_language"),
    path("accounts/login/", accounts.SignIn.as_view(), name="login"),
    path("accounts/logout/", accounts.SignOut.as_view(), name="logout"),
    path("s/<slug:slug>/", sandbox.page, name="sandbox"),
    path("s/<slug:slug>/actions/", sandbox.actions, name="actions"),
    path("s/<slug:slug>/ask/<slug:name>/", sandbox.ask, name="ask"),
    path("s/<slug:slug>/part/runs/", pipeline.runs, name="runs"),
    path("s/<slug:slug>/part/freshness/<str:job>/", pipeline.freshness, name="freshness"),
    path("s/<slug:slug>/part/<slug:name>/", sandbox.part, name="part"),
    path("s/<slug:slug>/keep/<slug:what>/", keep.keep, name="keep"),
    path("s/<slug:slug>/clients/<str:client>/", sandbox.page, {"tab": "client"}, name="client"),
    path("s/<slug:slug>/messages/<str:id>/", sandbox.page, {"tab": "message"}, name="message"),
    path("s/<slug:slug>/branch/", branch.branch, name="branch"),
    path("s/<slug:slug>/branching/", branch.branching, name="branching"),
    path("s/<slug:slug>/claims/", claims.choose, name="claims"),
    path("s/<slug:slug>/claims/<slug:play>/", claims.tried, name="claim-tried"),
    path("s/<slug:slug>/compare/", compare.choose, name="compare"),
    path("s/<slug:slug>/compare/<slug:play>/", compare.compared, name="compared"),
    path("s/<slug:slug>/share/", share.share, name="share"),
    path("s/<slug:slug>/share/links/", share.links, name="share-links"),
    path("s/<slug:slug>/share/lab/", share.lab, name="share-lab"),
    path("s/<slug:slug>/share/revoke/", share.revoke, name="share-revoke"),
    path("s/<slug:slug>/audit/", audit.audit, name="audit"),
    path("s/<slug:slug>/history/", history.history, name="history"),
    path("s/<slug:slug>/pipeline/", pipeline.pipeline, name="pipeline"),
    path("s/<slug:slug>/labs/<slug:lab>/", labs.lab, name="lab"),
    path("s/<slug:slug>/<slug:tab>/", sandbox.page, name="sandbox-page"),
    path("k/<attached:slug>/", sandbox.page, name="cluster"),
    path("k/<attached:slug>/actions/", sandbox.actions, name="cluster-actions"),
    path("k/<attached:slug>/ask/<slug:name>/", sandbox.ask, name="cluster-ask"),
    path("k/<attached:slug>/part/<slug:name>/", sandbox.part, name="cluster-part"),
    path("k/<attached:slug>/messages/<str:id>/", sandbox.page, {"tab": "message"}, name="cluster-message"),
    path("k/<attached:slug>/<slug:tab>/", sandbox.page, name="cluster-page"),
    path("v/<slug:secret>/", share.shared, name="shared"),
    path("v/<slug:secret>/recording.qvr", share.recording, name="shared-recording"),
    path("v/<slug:secret>/fork/", share.fork, name="shared-fork"),
    path("v/<slug:secret>/<path:rest>", linked.below, name="linked"),
    path("e/<slug:secret>/recording.qvr", share.recording, name="embedded-recording"),
    path("e/<slug:secret>/<slug:part>/", share.embedded, name="embedded"),
    path("oembed", share.oembed, name="oembed"),
    path("api/", api.urls),
    path("healthz", health.health, name="healthz"),
    path("healthz/live", health.live, name="healthz-live"),
    path("metrics", metrics.metrics, name="metrics"),
    path("admin/login/", accounts.to_administer, name="admin-login"),  # before the admin's own
    path("admin/", admin.site.urls),
]

handler400 = "queueviz.pages.errors.bad_request"
handler403 = "queueviz.pages.errors.forbidden"
handler404 = "queueviz.pages.errors.not_found"
handler500 = "queueviz.pages.errors.broken"
