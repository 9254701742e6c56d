"""ZooKeeper and KRaft compared, entity by entity."""
