"""Observation of a live cluster: its nodes, their feature ranges and levels, and changes as they occur."""
