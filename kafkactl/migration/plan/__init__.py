"""The steps of a migration, forward and back, and what each waits for."""
