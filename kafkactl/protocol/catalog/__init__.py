"""Feature levels and releases as facts."""
