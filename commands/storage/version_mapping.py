"""`kafkactl storage version-mapping`: which feature levels belong to a release version, as Kafka's tool reports it."""

from __future__ import annotations

from kafkactl.commands.framework.level_facts import version_mapping_command

command = version_mapping_command(
    "storage",
    examples=(
        "kafkactl storage version-mapping",
        "kafkactl storage version-mapping -r 4.2",
        "kafkactl storage version-mapping -r 3.9-IV0 --kafka-version 4.1 -o json",
    ),
    short=("-r",),
    metavar="RELEASE",
)
