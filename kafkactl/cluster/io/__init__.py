"""What a live cluster says of its features: its nodes, their ranges and levels, and changes as they come."""
