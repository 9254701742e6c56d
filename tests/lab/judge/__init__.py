"""The state machine of `kafkactl/simulator/raft` and the real classes of a release, compared call by call."""
