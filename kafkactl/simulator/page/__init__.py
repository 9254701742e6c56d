"""The page of a simulation. Pure."""
