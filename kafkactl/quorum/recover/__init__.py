"""Recovery of a metadata quorum that lost its majority: what disks hold, what would be lost, the snapshot to write."""
