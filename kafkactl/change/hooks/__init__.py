"""Requests to a hook, and ready-made hooks."""
