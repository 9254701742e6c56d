"""A migrating cluster: its observation, its journal, its lock, and the driver's port to it."""
