"""Feature levels and release facts, one TOML file a feature."""
