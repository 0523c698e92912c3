"""The same plain values as of a sandbox, from what was last heard of a cluster; None: nobody told."""
