"""The voter set of a live cluster: describe, plan and change it."""
