"""The next command of an area as it can be typed, with the options that name the cluster."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from kafkactl.core.frozen import frozen


@frozen
class Target:
    """Words that name the cluster on a command line; without any the command finds it as `status` did."""

    words: tuple[str, ...] = ()

    def command(self, words: Sequence[str]) -> str:
        """Return a kafkactl command about the cluster."""
        return shlex.join(["kafkactl", *words, *self.words])

    @staticmethod
    def migration_command() -> str:
        """Return the command about a migration, whose inventory is known to its operator only."""
        return "kafkactl migrate status --inventory FILE"

    def local_command(self, words: Sequence[str]) -> str:
        """Return a kafkactl command about this host."""
        return shlex.join(["kafkactl", *words])
