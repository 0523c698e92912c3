"""A simulated class: students who join a course of a running server and do its labs on its pages (docs/demo.md)."""
