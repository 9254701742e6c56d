"""Control records and quorum-state in the dialect of Kafka's own JSON definitions: facts only."""
