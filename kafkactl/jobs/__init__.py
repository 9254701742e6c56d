"""Work on Spark: a session of kafkactl's own or of a caller, its JVM, shipped code, and functions applied in tasks."""
