"""Types of translated texts, and of tables of such texts by name."""

from django.utils.functional import Promise

Text = str | Promise  # a Promise is translated when it is written
Texts = dict[str, Text]
