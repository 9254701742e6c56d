"""The configuration of a node as Kafka reads it."""
