"""The metadata log: its state at an offset, dumps, checks and comparisons."""
