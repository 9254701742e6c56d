"""SASL mechanisms as pure exchanges: what is sent for what was received."""
