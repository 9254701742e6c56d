"""`kafkactl features version-mapping`: which feature levels belong to a release version, as Kafka's tool reports it."""

from __future__ import annotations

from kafkactl.commands.framework.level_facts import version_mapping_command

command = version_mapping_command(
    "features",
    examples=(
        "kafkactl features version-mapping",
        "kafkactl features version-mapping --release-version 4.2 -o json",
    ),
    note=" No cluster is asked.",
)
