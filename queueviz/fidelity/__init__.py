"""Claims of five articles about RocketMQ, compared with its code, with QueueViz and with tests (docs/fidelity.md)."""
