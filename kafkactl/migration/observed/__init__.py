"""Observation of a migrating cluster, as values."""
