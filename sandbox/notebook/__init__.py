"""Access to a cluster from a notebook or a script: in virtual time, in real time, or a remote one."""
