"""The state machine of `kafkactl/raft` beside the real classes of a release, call by call."""
