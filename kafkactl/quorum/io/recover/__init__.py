"""Disks read for the recovery of a quorum, and the one directory that it writes."""
