"""The metadata quorum of a live cluster as values: observation, state, liveness, voters, majority. Pure."""
