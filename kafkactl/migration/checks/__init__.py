"""The checks before and during a migration."""
