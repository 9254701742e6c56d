"""Replay by columns: many partition records at a time."""
