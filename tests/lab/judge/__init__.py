"""The state machine of `kafkactl/raft` and the real classes of a release, compared call by call."""
