"""The nodes that a live cluster knows: list, compare and unregister them."""
