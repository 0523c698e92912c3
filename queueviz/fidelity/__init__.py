"""What five articles say of RocketMQ, what its code does, what we do, and the tests that show it (docs/fidelity.md)."""
