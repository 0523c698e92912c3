"""Runs that one integer tells: a stage, a workload, troubles, and what must hold whatever happened.

`script` makes the story of a seed, `run` plays it in a `World`, `checkers` compare what was seen from outside with what
RocketMQ promises.  docs/simulation.md says the promises and where they come from.
"""
