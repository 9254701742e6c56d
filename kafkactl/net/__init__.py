"""The network: sockets, TLS and its settings."""
