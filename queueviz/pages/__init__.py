"""The pages: views only; what they look like is in templates/."""
