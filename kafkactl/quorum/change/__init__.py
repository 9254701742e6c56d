"""A change of voters carried out: steps, waits, journal, outcome."""
