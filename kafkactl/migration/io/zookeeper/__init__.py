"""A live ZooKeeper: sessions, reads, writes and settings."""
