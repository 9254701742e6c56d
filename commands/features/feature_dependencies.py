"""`kafkactl features feature-dependencies`: what a feature level needs, as Kafka's tool reports it."""

from __future__ import annotations

from kafkactl.commands.framework.level_facts import feature_dependencies_command

command = feature_dependencies_command(
    "features",
    examples=(
        "kafkactl features feature-dependencies --feature eligible.leader.replicas.version=1",
        "kafkactl features feature-dependencies --feature share.version=1 --feature metadata.version=29",
    ),
    note=" No cluster is asked.",
)
