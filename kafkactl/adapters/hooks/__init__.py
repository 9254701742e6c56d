"""Hooks of a migration: commands of the operator, run under a limit."""
