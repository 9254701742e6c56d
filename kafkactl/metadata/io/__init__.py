"""Metadata logs from disks, live clusters and other file systems."""
