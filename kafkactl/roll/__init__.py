"""Rolling restarts and upgrades of a live KRaft cluster: checks, plan and position."""
