"""Bytes to values and back, and Kafka's own tables: codecs, record batches, levels and releases."""
