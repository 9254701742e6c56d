"""Text as Java and Kafka read it: properties, JAAS, PEM, numbers."""
