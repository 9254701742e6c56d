"""Checks before a roll: each row finds one kind of problem, on the whole cluster or node by node."""
