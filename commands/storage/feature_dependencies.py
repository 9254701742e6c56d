"""`kafkactl storage feature-dependencies`: what a feature level needs, as Kafka's tool reports it."""

from __future__ import annotations

from kafkactl.commands.framework.level_facts import feature_dependencies_command

command = feature_dependencies_command(
    "storage",
    examples=(
        "kafkactl storage feature-dependencies -f eligible.leader.replicas.version=1",
        "kafkactl storage feature-dependencies -f share.version=1 -f metadata.version=29 --kafka-version 4.2",
    ),
    short=("-f",),
)
