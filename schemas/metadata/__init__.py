"""Metadata records in the dialect of Kafka's own JSON definitions: facts only."""
