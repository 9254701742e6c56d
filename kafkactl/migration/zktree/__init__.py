"""The tree of a ZooKeeper cluster as values."""
