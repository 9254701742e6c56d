"""Connections to a live cluster, what they expose, and the contexts that name them."""
