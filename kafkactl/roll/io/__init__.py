"""Observations of a rolling restart, read and written."""
