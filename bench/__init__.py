"""Ratios measured side by side in one run: ours to the interpreter's, ours to Kafka's own tools. `make bench`."""
