"""Everything that opens something: disks, sockets, files, processes, the clock and randomness."""
