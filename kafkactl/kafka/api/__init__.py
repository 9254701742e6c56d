"""Connections to a live cluster, and the findings about what a connection exposes."""
