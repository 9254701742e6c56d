"""The next command of an area as it can be typed, with the options that name the cluster."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from kafkactl.core.frozen import frozen


@frozen
class Target:
    """Words that name the cluster on a command line; None if no command line can name it."""

    words: tuple[str, ...] | None = ()

    def command(self, words: Sequence[str]) -> str | None:
        """Return a kafkactl command about the cluster."""
        return None if self.words is None else shlex.join(["kafkactl", *words, *self.words])

    def local_command(self, words: Sequence[str]) -> str:
        """Return a kafkactl command about this host."""
        return shlex.join(["kafkactl", *words])
