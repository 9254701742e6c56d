"""The disks of nodes: directories, locks, and the formats that are written there."""
