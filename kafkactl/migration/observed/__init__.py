"""What was observed of a migrating cluster, as values."""
