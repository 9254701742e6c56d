"""Records of the metadata log as text and as values, for people and filters."""
