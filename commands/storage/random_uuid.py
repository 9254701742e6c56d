"""`kafkactl storage random-uuid`: a new id for a cluster, as Kafka's tool makes them."""

from __future__ import annotations

from typing import TypedDict

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit


class NewUuid(TypedDict):
    """The answer `storage.random-uuid`."""

    uuid: str


@leaf_command(
    "random-uuid",
    examples=("kafkactl storage random-uuid", "kafkactl storage random-uuid -o json"),
    codes=(0, 1),
)
def command() -> None:
    """Print a new random id for a cluster.

    It is a version 4 uuid in 22 characters of URL-safe base64 that never begins with a dash. Make one for the whole
    cluster: a node that makes its own founds a cluster of its own. `storage plan` does that for you.
    """
    from kafkactl.storage.api.identity import random_uuid

    uuid = random_uuid()
    answer: NewUuid = {"uuid": uuid}
    emit("storage.random-uuid", answer, render=lambda page, _: page.line(uuid))
