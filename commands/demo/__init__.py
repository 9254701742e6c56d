"""`kafkactl demo`: its scenes, and a cluster to try commands on, whose nodes are fake and whose sockets are real."""
