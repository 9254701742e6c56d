"""Effects on partitions and quorum when brokers stop and return, for the scenarios about brokers."""
