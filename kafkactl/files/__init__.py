"""Files of this machine: inputs, plans, journals, contexts; and the clock and randomness."""
