"""State of a migration, and the evidence for it."""
