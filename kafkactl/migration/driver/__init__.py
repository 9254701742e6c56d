"""The driver: which step is taken when, and where it stops."""
