"""What Kafka's migration copies from ZooKeeper, and which records it writes."""
