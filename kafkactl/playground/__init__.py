"""A cluster to try commands on: fake controllers over real sockets. Only `kafkactl demo` and the tests use it."""
