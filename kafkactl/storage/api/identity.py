"""New ids."""

from __future__ import annotations

from kafkactl.files import entropy


def random_uuid() -> str:
    """Return a new id for a cluster, as kafka-storage.sh makes them: 22 characters that do not begin with a dash."""
    return str(entropy.random_uuid())
