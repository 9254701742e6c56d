"""Cause, consequence and remedy of every finding and error id, one TOML file a package."""
