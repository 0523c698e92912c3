"""Types of texts in the reader's language, for tables of them by name."""

from django.utils.functional import Promise

Text = str | Promise  # a Promise is translated when it is written
Texts = dict[str, Text]
