"""The scenarios: what may happen to a cluster, a file each."""
