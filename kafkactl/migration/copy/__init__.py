"""Kafka's copy from ZooKeeper: the entities that are copied, and the records that are written."""
