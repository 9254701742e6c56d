"""ZooKeeper to KRaft: the tree of a ZooKeeper cluster as values, and what Kafka's migration makes of it."""
