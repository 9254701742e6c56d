"""What becomes of partitions and of the quorum when brokers are lost and come back, for the scenarios about brokers."""
