"""`kafkactl quorum recover`: the table of its verbs. Without a verb it plans and writes a recovery (`run`)."""

from __future__ import annotations

from kafkactl.commands.framework.lazy_group import Entry

VERBS = {
    "collect": Entry(
        "kafkactl.commands.quorum.recover.collect", "command", "Copy what a recovery needs of a log directory."
    ),
    "verify": Entry(
        "kafkactl.commands.quorum.recover.verify", "command", "Check a recovered directory, and the cluster after it."
    ),
}
