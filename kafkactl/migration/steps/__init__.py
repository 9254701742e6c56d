"""The states of a migration, one file a state: recognition, forward steps, exit gate and rollback.

`table.py` is the index: it lists the rows of all states in the order in which they are tried.
"""
