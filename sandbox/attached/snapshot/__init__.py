"""Snapshots of a cluster from its last answers, in the shape of a sandbox's.  None: not reported."""
