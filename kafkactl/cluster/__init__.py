"""Model of a live cluster: nodes, registrations, levels, quorum and settings."""
