"""A feature change carried out: requests, results, and the proof that a level is in force."""
