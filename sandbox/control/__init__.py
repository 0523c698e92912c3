"""What may be asked of a sandbox: typed actions and questions, rights, named limits."""
