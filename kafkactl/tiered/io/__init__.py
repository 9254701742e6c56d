"""Where remote log metadata, listings and observations are opened."""
