"""A cluster as a planner of feature levels sees it: nodes, levels, settings."""
