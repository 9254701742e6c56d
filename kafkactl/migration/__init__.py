"""ZooKeeper to KRaft and back: states, checks, steps and the driver of a migration."""
