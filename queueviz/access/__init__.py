"""Who may do what, and how often: one policy, visitors, limits."""
