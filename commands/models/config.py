"""Answers of `kafkactl config`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape


class Context(Shape):
    """A cluster under a name."""

    name: str
    current: bool = Field(description="Whether it counts where no node and no context is named.")
    bootstrap_server: str | None
    bootstrap_controller: str | None
    command_config: str | None = Field(description="The path of the client properties.")
    controller_command_config: str | None = Field(description="Those for controllers, if they differ.")
    cluster_id: str | None = Field(description="The id that the cluster must have before anything is changed.")
    spark_master: str | None = Field(description="The Spark master on which `dryrun` replays logs.")


class ConfigView(Answer):
    """`config view`."""

    kind: Literal["config.view"]
    file: str
    current: str | None = Field(description="The current context; it may name one that is not there.")
    contexts: list[Context]


class ConfigChange(Answer):
    """`config use`, `set`, `unset` and `delete`."""

    kind: Literal["config.change"]
    outcome: Literal["done", "nothing-to-do", "planned"]
    file: str
    name: str
    before: Context | None = Field(description="The context as it was; null where there was none.")
    after: Context | None
    findings: list[Finding]
