"""Recovery of a metadata quorum that lost its majority: plan from directories, write a new one, check the result."""
