"""Runs determined by one integer: a setup, a workload, faults, and invariants that must hold in every run.

`script` makes the steps of a seed, `run` plays them in a `World`, `checkers` compare what was observed with the
guarantees of RocketMQ.  docs/simulation.md lists the guarantees and their sources.
"""
