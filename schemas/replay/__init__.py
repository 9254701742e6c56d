"""What the replay of metadata records knows as data: record versions by level of metadata.version."""
