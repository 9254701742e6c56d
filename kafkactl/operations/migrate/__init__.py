"""ZooKeeper to KRaft: observe, check, plan, render, drive and compare a migration."""
