"""Answers of `kafkactl migrate compare` and `migrate render`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape


class Difference(Shape):
    """One thing that ZooKeeper and KRaft do not say the same of; under `-o jsonl` each is a line of its own."""

    entity: str = Field(
        description="topic, partition, topic-config, broker-config, config, client-quota, scram-credential, acl,"
        " delegation-token, producer-ids, broker, feature or cluster-id; in `copy` the type of the record."
    )
    key: str = Field(description="Its name: `orders`, `orders-3`, `user alice, client-id app`, `TOPIC orders LITERAL`.")
    zookeeper: Any = Field(description="What differs of it in ZooKeeper; null where it is not there.")
    kraft: Any = Field(description="What differs of it in KRaft; null where it is not there.")
    explained: str | None = Field(description="Why it is harmless; null: nothing explains it.")
    rule: str | None = Field(description="The name of the rule that explains it.")
    znode: str | None = Field(description="Where ZooKeeper keeps it, below the chroot.")


class UnknownThing(Shape):
    """What was not compared."""

    entity: str
    key: str
    reason: str


class EntityCount(Shape):
    """How many differences of an entity."""

    unexplained: int
    explained: int
    unknown: int


class CopyComparison(Shape):
    """The copy against the prediction made of a tree from before it (`--before`)."""

    unexplained: int
    differences_total: int
    differences: list[Difference] = Field(description="`zookeeper` is the predicted record, `kraft` the one copied.")


class MigrateCompare(Answer):
    """`migrate compare`."""

    kind: Literal["migrate.compare"]
    phase: Literal["unknown", "before-copy", "dual-write", "mirror-without-copy", "finalized", "rolled-back"]
    compared: bool = Field(description="False where ZooKeeper or the log is not in the observation.")
    time_ms: int
    last_offset: int | None = Field(description="Of the metadata log.")
    mirror_offset: int | None = Field(description="The offset in /migration.")
    counts: dict[str, EntityCount] = Field(description="By entity.")
    unexplained: int
    differences_total: int
    differences: list[Difference] = Field(description="Unexplained ones first; the first 1,000.")
    unknown: list[UnknownThing]
    copy_: CopyComparison | None = Field(alias="copy")
    copy_unknown: list[UnknownThing] = Field(
        description="Records of the copy whose values, or predictions, are not shown: neither equal nor different."
    )
    findings: list[Finding]


class RenderedFile(Shape):
    """A node's file for a phase."""

    id: int
    role: Literal["broker", "controller"]
    phase: Literal["original", "migration", "kraft", "final"]
    path: str | None = Field(description="Within the folder; null where it was not made or not written.")
    sha256: str | None = Field(description="Null where it could not be made.")
    set: list[str] = Field(description="Keys that are new or have another value than in the node's own file.")
    removed: list[str]
    diff: str | None = Field(description="What changes from the phase before, secrets left out.")


class RenderInput(Shape):
    """A file that others were made from."""

    id: int
    role: Literal["broker", "controller"]
    file: str
    sha256: str


class MigrateRender(Answer):
    """`migrate render`."""

    kind: Literal["migrate.render"]
    outcome: Literal["done", "planned", "refused", "partial"]
    folder: str | None = Field(description="Null where nothing was written.")
    manifest: str | None
    inputs: list[RenderInput]
    files: list[RenderedFile]
    findings: list[Finding]
