"""Answers of `kafkactl migrate`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape

Role = Literal["broker", "controller"]
Mode = Literal["zk", "migrating", "kraft"]


class ObservedZooKeeper(Shape):
    """The tree that was seen."""

    connect: str | None
    chroot: str = Field(description="Empty, or with a slash before it.")
    znodes: int | None = Field(description="Null where ZooKeeper was not reached.")


class ObservedNode(Shape):
    """A node of the inventory, as far as it was seen."""

    id: int
    role: Role
    alive: bool | None = Field(description="Whether it answered; null where it is not its own port that did.")
    kafka_version: str | None
    mode: Mode | None
    config: bool = Field(description="Whether its configuration was seen.")
    metrics: bool = Field(description="Whether metrics were seen.")


class ObservedLog(Shape):
    """A metadata log that was read or fetched."""

    id: int = Field(description="The controller whose log it is.")
    first_offset: int | None
    last_offset: int | None
    epoch: int


class MigrateObserve(Answer):
    """`migrate observe`."""

    kind: Literal["migrate.observe"]
    folder: str | None = Field(description="Where it was saved; null where nothing at all could be seen.")
    include_secrets: bool
    time_ms: int
    zookeeper: ObservedZooKeeper
    nodes: list[ObservedNode]
    logs: list[ObservedLog]
    findings: list[Finding] = Field(description="What could not be seen, and why.")
