"""Forms of pages."""

from django import forms
from django.utils.translation import gettext_lazy

from queueviz.models import Sandbox


class NewSandboxForm(forms.Form):
    """The form that starts a sandbox.  Only the template is needed."""

    template = forms.CharField(max_length=32, required=False, initial="orders")
    preset = forms.CharField(max_length=32, required=False)
    name = forms.CharField(max_length=80, required=False, label=gettext_lazy("Name"))


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form for the settings of a sandbox that its owner may change outside the engine."""

    class Meta:
        model = Sandbox
        fields = ("name", "visibility")
