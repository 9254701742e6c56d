"""Feature levels: which release knows which, with defaults and dependencies."""
