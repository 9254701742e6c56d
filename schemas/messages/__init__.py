"""RPC requests, responses and headers in the dialect of Kafka's own JSON definitions: facts only."""
