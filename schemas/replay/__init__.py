"""Data for the replay of metadata records: record versions by level of metadata.version."""
