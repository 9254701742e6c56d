"""Data only: message definitions, feature levels, explanations. Read through kafkactl.protocol.schema."""
