"""kafkactl: an operator's toolkit for Apache Kafka clusters on KRaft, or on the way to it."""

from __future__ import annotations

from kafkactl._version import __version__

__all__ = ["__version__"]
