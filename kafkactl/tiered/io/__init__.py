"""Readers of remote log metadata, listings and observations."""
