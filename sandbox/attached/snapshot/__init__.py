"""The same plain values as of a sandbox, from a cluster's last answers; None: not reported."""
