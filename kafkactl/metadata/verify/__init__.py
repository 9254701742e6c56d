"""Checks of metadata logs: one folder, several copies of one log, and the histories that they hold. Pure."""
