"""Simulated loop, network, disk and faults, driven by a seed."""
