"""Findings: one sentence that says why, with its evidence and the step that mends it.

Pure functions over the rows that boards show, of a sandbox and of a real cluster alike: no clock, no asyncio.
"""
