"""`kafkactl simulate` as functions."""
