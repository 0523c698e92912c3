"""A played class: students who join a course of a running server and do its labs by its pages (docs/demo.md)."""
