"""What `__remote_log_metadata` holds, what brokers derive from it, and what goes wrong (KIP-405). Pure."""
