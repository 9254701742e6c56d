"""SASL on a connection: the exchange, and the mechanisms that need tokens, keys or Kerberos."""
