"""Facts about the configuration of a node, by release."""
