"""Simulated runs, each determined by one integer: a setup, a workload, faults, and invariants that must hold.

`script` makes the steps of a seed, `run` executes them in a `World`, and `checkers` compare the observations with
the guarantees of RocketMQ.  docs/simulation.md lists the guarantees and their sources.
"""
