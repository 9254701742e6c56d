"""Answers of `kafkactl migrate` that are put together from several values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.values import Role
from kafkactl.migration.compare.case import Difference
from kafkactl.migration.compare.comparison import EntityCount
from kafkactl.migration.compare.phase import Phase
from kafkactl.migration.copy.forecast import CopyOutcome
from kafkactl.migration.observed.observation import Mode
from kafkactl.migration.steps.step import Step

if TYPE_CHECKING:
    from kafkactl.migration.api.rendering import RenderedFile, RenderOutcome


class ObservedZooKeeper(TypedDict):
    """The tree that was seen."""

    connect: str | None
    chroot: str
    """Empty, or with a slash before it."""
    znodes: int | None
    """None where ZooKeeper was not reached."""


class ObservedNode(TypedDict):
    """A node of the inventory, as far as it was seen."""

    id: int
    role: Role
    alive: bool | None
    """True if it answered; None if it is not its own port that did."""
    kafka_version: str | None
    mode: Mode | None
    config: bool
    """True if its configuration was seen."""
    metrics: bool
    """True if metrics were seen."""


class ObservedLog(TypedDict):
    """A metadata log that was read or fetched."""

    id: int
    """The controller whose log it is."""
    first_offset: int | None
    last_offset: int | None
    epoch: int


class MigrateObserve(TypedDict):
    """`migrate observe`."""

    folder: str | None
    """Folder of the observation; None if nothing was observed."""
    include_secrets: bool
    time_ms: int
    zookeeper: ObservedZooKeeper
    nodes: list[ObservedNode]
    logs: list[ObservedLog]
    findings: tuple[Finding, ...]
    """Parts that could not be observed, with the reason."""


class CheckCounts(TypedDict):
    """Number of findings of each severity; unknowns are counted apart from warnings."""

    blocker: int
    warning: int
    """Not accepted, and not unknown."""
    unknown: int
    """Checks that the observation cannot answer, and that were not accepted."""
    info: int


class MigrateCheck(TypedDict):
    """`migrate check`."""

    state: str
    """M0 to M11, M4L, or the name of a broken situation."""
    state_words: str
    time_ms: int
    """When the cluster was observed."""
    passes: bool
    """No blocker, and every warning and unknown accepted."""
    too_little_seen: bool
    """Neither right nor wrong can be said: the exit code is 4 or 6."""
    counts: CheckCounts
    open: list[str]
    """Words for --accept that accept what is left: ID or ID@NODE."""
    accepted: list[str]
    findings: tuple[Finding, ...]
    """Findings, with `check` (C-01 to C-65, X-…) in the evidence, and `question` if unknown."""


class UnknownThing(TypedDict):
    """Entity that was not compared, with the reason."""

    entity: str
    key: str
    reason: str


class ShownCopyComparison(TypedDict):
    """The copy against the prediction made of a tree from before it (`--before`)."""

    unexplained: int
    differences_total: int
    differences: Sequence[Difference]
    """`zookeeper` is the predicted record, `kraft` the one copied."""


class MigrateCompare(TypedDict):
    """`migrate compare`."""

    phase: Phase
    compared: bool
    """False where ZooKeeper or the log is not in the observation."""
    time_ms: int
    last_offset: int | None
    """End offset of the metadata log."""
    mirror_offset: int | None
    """The offset in /migration."""
    counts: dict[str, EntityCount]
    """By entity."""
    unexplained: int
    differences_total: int
    differences: Sequence[Difference]
    """Unexplained ones first; the first 1,000."""
    unknown: list[UnknownThing]
    copy: ShownCopyComparison | None
    copy_unknown: list[UnknownThing]
    """Records of the copy whose values, or predictions, are not shown: neither equal nor different."""
    findings: tuple[Finding, ...]


class RenderInput(TypedDict):
    """A file that others were made from."""

    id: int
    role: Role
    file: str
    sha256: str


class MigrateRender(TypedDict):
    """`migrate render`."""

    outcome: RenderOutcome
    folder: str | None
    """None if nothing was written."""
    manifest: str | None
    inputs: list[RenderInput]
    files: tuple[RenderedFile, ...]
    findings: tuple[Finding, ...]


class CopySizes(TypedDict):
    """Sizes of the copy by the observed tree."""

    outcome: CopyOutcome
    records: int
    by_type: Mapping[str, int]
    batches: int
    bytes: int
    seconds: float
    """A rough figure."""
    exact: bool
    """False where values are not shown."""


class Restarts(TypedDict):
    """Number of restarts that are left."""

    brokers: int
    controllers: int


class MigratePlan(TypedDict):
    """`migrate plan`."""

    outcome: Outcome
    state: str
    state_words: str
    time_ms: int
    steps: tuple[Step, ...]
    restarts: Restarts
    prediction: CopySizes | None
    """The copy; None if it is done, or no tree was observed."""
    consequences: tuple[str, ...]
    findings: tuple[Finding, ...]
