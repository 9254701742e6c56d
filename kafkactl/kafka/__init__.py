"""Nodes of Kafka over the network: connections, the client, and what is read of a cluster through it."""
