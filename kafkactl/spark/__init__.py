"""Spark: its JVM, sessions and workers."""
