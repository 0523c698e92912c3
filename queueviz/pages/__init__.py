"""The views of all pages.  Their HTML is in templates/."""
