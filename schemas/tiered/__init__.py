"""Records of the topic __remote_log_metadata (KIP-405) in the dialect of Kafka's own JSON definitions."""
