"""Definitions: the data in schemas/ as checked values."""
