"""The harbour: the only room that touches disks, clocks and randomness."""
